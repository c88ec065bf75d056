/// The version of this package.
package enum HoldfastVersion {
    /// The version, as in the change log.
    package static let current = "0.1.0"
}
