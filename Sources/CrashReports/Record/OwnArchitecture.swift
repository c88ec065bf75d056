/// The machine that this code was built for.
public enum OwnArchitecture {
    /// Its name, as uname(2) has it.
    #if arch(arm64)
    public static let name = "aarch64"
    #else
    public static let name = "x86_64"
    #endif
}
