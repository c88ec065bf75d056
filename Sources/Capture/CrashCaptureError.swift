public import SystemPackage

/// Why crash capture could not be set up.
public struct CrashCaptureError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: Sendable, Equatable {
        private enum Value { case spool, handlers, thread, alreadyInstalled, signal }
        private let value: Value

        /// The spool file could not be made.
        public static let spool = Code(value: .spool)
        /// The signal handlers could not be installed.
        public static let handlers = Code(value: .handlers)
        /// The crash thread or a signal stack could not be made.
        public static let thread = Code(value: .thread)
        /// Capture is installed already; a process has one.
        public static let alreadyInstalled = Code(value: .alreadyInstalled)
        /// The signal cannot be observed: it is a fault, or no signal at all.
        public static let signal = Code(value: .signal)

        fileprivate var text: String {
            switch value {
            case .spool: "cannot make the spool file; check that the store is a folder of yours with room left"
            case .handlers: "cannot install the fault handlers"
            case .thread: "cannot start the crash thread or map a signal stack"
            case .alreadyInstalled: "crash capture is installed already; a process has one EventHost"
            case .signal: "this signal cannot be observed"
            }
        }
    }

    /// What went wrong.
    public let code: Code
    /// The file it is about, if any.
    public let path: String?
    /// The system's error, if any.
    public let underlyingError: Errno?

    /// More about it, with what to do.
    private let detail: String?

    init(_ code: Code, path: String? = nil, detail: String? = nil, _ error: Errno? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        underlyingError = error
    }

    /// The error in words, with what to do.
    public var description: String {
        let place = path.map { "\($0): " } ?? ""
        let cause = underlyingError.map { " (\($0))" } ?? ""
        return place + code.text + (detail.map { ": \($0)" } ?? "") + cause
    }
}
