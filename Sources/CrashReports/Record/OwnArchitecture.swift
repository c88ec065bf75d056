/// The machine that this code was built for.
public enum OwnArchitecture {
    #if arch(arm64)
    /// Its name, as uname(2) has it.
    public static let name = "aarch64"
    #else
    /// Its name, as uname(2) has it.
    public static let name = "x86_64"
    #endif
}
