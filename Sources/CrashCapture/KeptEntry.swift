/// A descriptor that is kept across restarts, and the program's bytes that go with it.
public struct KeptEntry: Sendable, Hashable {
    /// The descriptor's number.
    public var descriptor: CInt
    /// The program's bytes.
    public var state: [UInt8]

    /// Makes an entry.
    public init(descriptor: CInt, state: [UInt8]) {
        self.descriptor = descriptor
        self.state = state
    }
}

/// What was to be kept across a restart and is not there: it was closed, and its number may be another file's.
public struct LostDescriptor: Sendable, Hashable {
    /// The name that it was kept under.
    public let name: String
    /// Its bytes, which are there.
    public let state: [UInt8]
}
