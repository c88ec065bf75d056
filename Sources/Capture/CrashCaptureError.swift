package import SystemPackage

/// Why crash capture could not be set up.
package struct CrashCaptureError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    package struct Code: Sendable, Equatable {
        private enum Value { case spool, handlers, thread, alreadyInstalled, signal }
        private let value: Value

        /// The spool file could not be made.
        package static let spool = Code(value: .spool)
        /// The signal handlers could not be installed.
        package static let handlers = Code(value: .handlers)
        /// The crash thread or a signal stack could not be made.
        package static let thread = Code(value: .thread)
        /// Capture is installed already; a process has one.
        package static let alreadyInstalled = Code(value: .alreadyInstalled)
        /// The signal cannot be observed: it is a fault, or no signal at all.
        package static let signal = Code(value: .signal)

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
    package let code: Code
    /// The file concerned, if any.
    package let path: String?
    /// The system's error, if any.
    package let underlyingError: Errno?

    /// Details, with what to do.
    private let detail: String?

    init(_ code: Code, path: String? = nil, detail: String? = nil, _ error: Errno? = nil) {
        self.code = code
        self.path = path
        self.detail = detail
        underlyingError = error
    }

    /// The error in words, with what to do.
    package var description: String {
        let place = path.map { "\($0): " } ?? ""
        let cause = underlyingError.map { " (\($0))" } ?? ""
        return place + code.text + (detail.map { ": \($0)" } ?? "") + cause
    }
}
