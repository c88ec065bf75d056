import Glibc

/// Why a helper of the tests could not do its work.
public struct HarnessError: Error, Sendable, CustomStringConvertible {
    /// What went wrong, in words.
    public let description: String

    /// Makes an error.
    public init(_ description: String) {
        self.description = description
    }

    /// Makes an error of a system call that has just failed.
    init(call: String, code: CInt) {
        description = "\(call): \(strerror(code).map { String(cString: $0) } ?? "error \(code)")"
    }
}
