package import SystemPackage

/// Why a run loop refused an item or a date.
public struct RunLoopError: Error, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    public struct Code: Hashable, Sendable {
        package let text: String

        /// The kernel cannot wait for this kind of file: it is a regular file or a directory.
        public static let descriptorNotPollable = Code(
            text: "the kernel waits for sockets, pipes and terminals, not for this kind of file"
        )
        /// The number is not that of an open descriptor.
        public static let descriptorNotOpen = Code(text: "the descriptor is not open")
        /// Another port source with the same descriptor is in the mode.
        public static let descriptorInUse = Code(text: "the mode has another port source with this descriptor")
        /// The process has no descriptors left, or the kernel no memory or no watches.
        public static let noResources = Code(text: "there are no descriptors, no memory or no watches left")
        /// A number of seconds is infinite, or not a number.
        public static let invalidDate = Code(text: "a number of seconds is not finite")
    }

    /// The kind of failure.
    public let code: Code
    /// The error of the system call, if one failed.
    package let underlyingError: Errno?

    package init(code: Code, underlyingError: Errno? = nil) {
        self.code = code
        self.underlyingError = underlyingError
    }

    /// Makes an error from that of `epoll_ctl`.
    init(addingDescriptor error: Errno) {
        let code: Code =
            switch error {
            // EINVAL and ELOOP: an epoll instance that would contain itself.
            case .notPermitted, .invalidArgument, .tooManySymbolicLinkLevels: .descriptorNotPollable
            case .badFileDescriptor: .descriptorNotOpen
            case .fileExists: .descriptorInUse
            default: .noResources
            }
        self.init(code: code, underlyingError: error)
    }

    /// What happened, with the error of the system call.
    public var description: String { code.text + (underlyingError.map { " (\($0))" } ?? "") }
}
