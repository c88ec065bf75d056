/// A value was asked for that a fault may have left half changed.
public struct PoisonedError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the `Poisonable`.
    public let name: String

    /// Makes an error.
    ///
    /// - Parameter name: The name of the `Poisonable`.
    public init(name: String) {
        self.name = name
    }

    /// What happened, and what to do.
    public var description: String {
        "\(DescriptionText.quoted(name)) is poisoned: a callout was abandoned while it changed the value, which may be half "
            + "changed; put a new one in its place with replace(with:), or restart the process"
    }
}
