/// The version of this package.
public enum HoldfastVersion {
    /// The version, as in the change log.
    public static let current = "0.1.0"
}
