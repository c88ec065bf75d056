internal import CrashCapture
package import SystemPackage

/// Why a host could not be made, or does not do what it was asked to.
public struct EventHostError: Error, Sendable, CustomStringConvertible {
    /// The error in words, with what to do.
    public let description: String
    /// The system's error, if it was one.
    package let underlyingError: Errno?

    init(_ error: some Error) {
        description = "\(error)"
        underlyingError = error as? Errno
    }

    /// Nothing is kept under a name.
    init(unknownName name: String) {
        description = "\(name.prefix(64)): nothing is kept under this name; keep a descriptor first"
        underlyingError = nil
    }

    /// A descriptor or its bytes are not kept across restarts.
    init(keeping name: String, _ error: Errno) {
        let reason =
            switch error {
            case .badFileDescriptor: "the descriptor is not open; keep it before it is closed"
            case .invalidArgument:
                "names have up to \(KeptTable.nameSizeLimit) bytes, states up to \(KeptTable.stateSizeLimit); "
                    + "put what is larger into a file and keep that"
            case .noSpace: "there are \(KeptTable.nameLimit) names; give up those that are not needed any more"
            default: "the kernel has no memory or no descriptor for the table"
            }
        description = "\(name.prefix(64)): \(reason) (\(error))"
        underlyingError = error
    }
}
