import Glibc
import LinuxSystem
public import SystemPackage

extension HostRunLoop.Message {
    /// A descriptor that is closed when nobody refers to this handle any more.
    ///
    /// Nobody else may close it. Callable from any thread. What a handler that faulted referred to stays open, like all that
    /// lies on its abandoned stack.
    public final class Descriptor: Sendable {
        private let descriptor: OwnedDescriptor

        /// Takes over an open descriptor.
        ///
        /// - Parameter rawValue: Its number; from now on only this handle closes it.
        public init(takingOver rawValue: CInt) {
            descriptor = OwnedDescriptor(takingOver: rawValue)
        }

        /// Takes over an open descriptor.
        init(owning descriptor: consuming OwnedDescriptor) {
            self.descriptor = descriptor
        }

        /// Makes a duplicate of a descriptor that somebody else closes.
        ///
        /// - Parameter rawValue: The number of an open descriptor.
        /// - Throws: The error of the call: `EBADF` if it is not open, `EMFILE`.
        public convenience init(duplicating rawValue: CInt) throws(Errno) {
            self.init(takingOver: try SystemCall.checked { fcntl(rawValue, F_DUPFD_CLOEXEC, 0) })
        }

        /// The number, valid as long as this handle.
        public var rawValue: CInt { descriptor.rawValue }

        /// Makes a duplicate for somebody who closes it.
        ///
        /// - Returns: The number of the duplicate, closed on exec.
        /// - Throws: The error of the call: `EMFILE`.
        public func duplicate() throws(Errno) -> CInt {
            try SystemCall.checked { fcntl(rawValue, F_DUPFD_CLOEXEC, 0) }
        }
    }
}
