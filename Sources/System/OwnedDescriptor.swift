import Glibc

/// A file descriptor that is closed at the end of its life.
public struct OwnedDescriptor: ~Copyable, Sendable {
    /// The number of the descriptor, for the length of this value's life.
    public let rawValue: CInt

    /// Takes over a descriptor that nobody else closes.
    ///
    /// - Parameter rawValue: The number of an open descriptor.
    public init(takingOver rawValue: CInt) {
        self.rawValue = rawValue
    }

    /// Returns the descriptor without closing it; the caller closes it from now on.
    package consuming func release() -> CInt {
        let number = rawValue
        discard self
        return number
    }

    deinit {
        // Not repeated: Linux frees the number even if close(2) was interrupted.
        _ = close(rawValue)
    }
}
