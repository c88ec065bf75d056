/// A resumed fault, as it arrives on the main loop.
public struct CrashMessage: Sendable, Hashable {
    /// Which fault of the process it was, from 1.
    public var number: Int
    /// The signal's number.
    public var signal: CInt
    /// The identity of the loop item whose callout was abandoned.
    public var item: UInt64

    /// Makes a message.
    public init(number: Int, signal: CInt, item: UInt64) {
        self.number = number
        self.signal = signal
        self.item = item
    }
}
