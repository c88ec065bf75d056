public import SystemPackage

/// Why a run loop refused something: an item, or a date.
public struct RunLoopError: Error, Hashable, CustomStringConvertible {
    /// The kinds of failure.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        private enum Kind: Hashable {
            case descriptorNotPollable
            case descriptorNotOpen
            case descriptorInUse
            case noResources
            case invalidDate
        }

        private let kind: Kind

        /// The kernel cannot wait for this kind of file: it is a regular file or a directory.
        public static let descriptorNotPollable = Code(kind: .descriptorNotPollable)
        /// The number is not that of an open descriptor.
        public static let descriptorNotOpen = Code(kind: .descriptorNotOpen)
        /// Another port source with the same descriptor is in the mode.
        public static let descriptorInUse = Code(kind: .descriptorInUse)
        /// The process has no descriptors left, or the kernel no memory or no watches.
        public static let noResources = Code(kind: .noResources)
        /// The date or the interval is not a number.
        public static let invalidDate = Code(kind: .invalidDate)

        /// What it means, as a sentence.
        public var description: String {
            switch kind {
            case .descriptorNotPollable: "the kernel cannot wait for this kind of file"
            case .descriptorNotOpen: "the descriptor is not open"
            case .descriptorInUse: "the mode has another port source with this descriptor"
            case .noResources: "there are no descriptors, no memory or no watches left"
            case .invalidDate: "the date or the interval is not a number"
            }
        }
    }

    /// What kind of failure it is.
    public let code: Code
    /// The error of the system call, if one failed.
    public let underlyingError: Errno?

    /// Makes an error.
    ///
    /// - Parameters:
    ///   - code: What kind of failure it is.
    ///   - underlyingError: The error of the system call, if one failed.
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
    public var description: String {
        guard let underlyingError else { return code.description }
        return "\(code) (\(underlyingError))"
    }
}
