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

    /// Gives the descriptor up without closing it, to whoever closes it from now on.
    package consuming func release() -> CInt {
        let number = rawValue
        discard self
        return number
    }

    deinit {
        // No retry: Linux frees the number even when close(2) was interrupted.
        _ = close(rawValue)
    }
}
