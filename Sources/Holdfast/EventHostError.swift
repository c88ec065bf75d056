internal import CrashCapture
internal import CrashReports
internal import RunLoops
internal import SystemPackage

/// Why a host could not be made, or does not do what it was asked to.
public struct EventHostError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: Sendable, Hashable {
        private enum Value { case store, capture, signal, system }
        private let value: Value

        /// The store for reports could not be made or is not safe to use.
        public static let store = Code(value: .store)
        /// Crash capture could not be installed.
        public static let capture = Code(value: .capture)
        /// The signal cannot be observed: it is a fault, or no signal at all.
        public static let signal = Code(value: .signal)
        /// A descriptor or a thread could not be had.
        public static let system = Code(value: .system)
    }

    /// What went wrong.
    public let code: Code
    /// The error in words, with what to do.
    public let description: String

    /// The status to exit with.
    ///
    /// Not that of a crash loop: a host that gives up ends the process itself (`CrashLoopPolicy.givesUpAfter`).
    public var exitStatus: CInt { 1 }

    init(_ error: ReportStoreError) {
        code = .store
        description = error.description
    }

    init(_ error: CrashCaptureError) {
        code = error.code == .signal ? .signal : .capture
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
