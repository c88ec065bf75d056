import CLinuxShims
import Glibc
public import SystemPackage

/// A counter that is readable while it is not zero: an eventfd.
public struct EventDescriptor: ~Copyable, Sendable {
    private let descriptor: OwnedDescriptor

    /// Makes a counter of zero, nonblocking and closed on exec.
    ///
    /// The corresponding C function is `eventfd`.
    ///
    /// - Throws: The error of the call: `EMFILE`, `ENFILE` or `ENOMEM`.
    public init() throws(Errno) {
        let number = try SystemCall.checked { eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK)) }
        descriptor = OwnedDescriptor(takingOver: number)
    }

    /// The number of the descriptor.
    public var rawValue: CInt { descriptor.rawValue }

    /// Adds one to the counter, which wakes the threads that wait for it.
    public func notify() {
        // EAGAIN means that the counter is full: after 2^64 notifications that nobody read.
        _ = try? SystemCall.checked { () -> Int in
            var one: UInt64 = 1
            return unsafe write(descriptor.rawValue, &one, MemoryLayout<UInt64>.size)
        }
    }

    /// Sets the counter back to zero.
    public func clear() {
        Self.clear(descriptor.rawValue)
    }

    /// Sets the counter of somebody else's eventfd back to zero.
    ///
    /// - Parameter descriptor: The number of a nonblocking eventfd.
    public static func clear(_ descriptor: CInt) {
        // EAGAIN means that it was already zero.
        _ = try? SystemCall.checked { () -> Int in
            var value: UInt64 = 0
            return unsafe read(descriptor, &value, MemoryLayout<UInt64>.size)
        }
    }
}
