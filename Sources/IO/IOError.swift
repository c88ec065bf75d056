internal import RunLoops
public import SystemPackage

/// A system call that failed: what was to be done, and the kernel's word.
public struct IOError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What was to be done: "bind to 127.0.0.1:80".
    package let operation: String
    /// Why it was not.
    public let code: Errno

    init(_ operation: String, _ code: Errno) {
        self.operation = operation
        self.code = code
    }

    /// Both, on one line.
    public var description: String { "\(operation): \(code)" }
}

extension HostRunLoop {
    /// Has a port source served in the common modes.
    ///
    /// - Parameters:
    ///   - source: The source; invalidated where it cannot be served.
    ///   - purpose: What it is for, in words for an error.
    /// - Returns: The source.
    /// - Throws: `IOError`.
    func serve(_ source: PortSource, for purpose: String) throws(IOError) -> PortSource {
        do {
            try add(source, to: .common)
        } catch {
            source.invalidate()
            throw IOError("\(purpose): \(error.code.text)", error.underlyingError ?? .badFileDescriptor)
        }
        return source
    }
}
