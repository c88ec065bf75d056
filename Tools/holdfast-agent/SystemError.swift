import Glibc

/// A system call that failed.
struct SystemError: Error, CustomStringConvertible {
    let description: String

    init(_ call: String, _ code: CInt) {
        description = "\(call): \(unsafe String(cString: strerror(code)))"
    }
}
