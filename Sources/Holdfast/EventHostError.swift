internal import CrashCapture
internal import CrashReports
internal import RunLoops
internal import Supervision
internal import SystemPackage

/// Why a host could not be made.
public struct EventHostError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: Sendable, Hashable {
        private enum Value { case store, capture, system, crashLoop }
        private let value: Value

        /// The store for reports could not be made or is not safe to use.
        public static let store = Code(value: .store)
        /// Crash capture could not be installed.
        public static let capture = Code(value: .capture)
        /// A descriptor or a thread could not be had.
        public static let system = Code(value: .system)
        /// The processes before this one faulted one after the other, also in safe mode: starting again does not help.
        public static let crashLoop = Code(value: .crashLoop)
    }

    /// What went wrong.
    public let code: Code
    /// The error in words, with what to do.
    public let description: String

    /// The status to exit with: `CrashLoopPolicy.permanentFailureExitCode` for a crash loop, so that an outer supervisor can
    /// tell it from a failure that may pass; else 1.
    public var exitStatus: CInt {
        code == .crashLoop ? CrashLoopPolicy.permanentFailureExitCode : 1
    }

    init(crashLoopAfter ends: Int) {
        code = .crashLoop
        description = """
            a crash loop: \(ends) processes in a row ended early, the last of them in safe mode; see 'crashreport list', mend \
            what faults, and start again after a minute
            """
    }

    init(_ error: ReportStoreError) {
        code = .store
        description = error.description
    }

    init(_ error: CrashCaptureError) {
        code = .capture
        description = error.description
    }

    init(_ error: Errno) {
        code = .system
        description = "\(error)"
    }

    init(_ error: RunLoopError) {
        code = .system
        description = error.description
    }
}
