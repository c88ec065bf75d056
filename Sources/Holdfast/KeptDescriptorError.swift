internal import CrashCapture
package import SystemPackage

/// Why a descriptor or its bytes are not kept across restarts; a former one of the same name still is.
public struct KeptDescriptorError: Error, Sendable, CustomStringConvertible {
    /// What went wrong.
    public struct Code: Sendable, Hashable {
        private enum Value { case notOpen, tooLarge, tooMany, unknownName, system }
        private let value: Value

        /// The descriptor is not open.
        public static let notOpen = Code(value: .notOpen)
        /// The name or the bytes are beyond their limits.
        public static let tooLarge = Code(value: .tooLarge)
        /// There are 65,536 names already.
        public static let tooMany = Code(value: .tooMany)
        /// Nothing is kept under the name.
        public static let unknownName = Code(value: .unknownName)
        /// The kernel gave no memory or no descriptor.
        public static let system = Code(value: .system)

        fileprivate var text: String {
            switch value {
            case .notOpen: "the descriptor is not open; keep it before it is closed"
            case .tooLarge:
                "names have up to \(KeptTable.nameSizeLimit) bytes, states up to \(KeptTable.stateSizeLimit); "
                    + "put what is larger into a file and keep that"
            case .tooMany: "there are \(KeptTable.nameLimit) names; give up those that are not needed any more"
            case .unknownName: "nothing is kept under this name; keep a descriptor first"
            case .system: "the kernel has no memory or no descriptor for the table"
            }
        }
    }

    /// What went wrong.
    public let code: Code
    /// The name concerned.
    package let name: String
    /// The system's error, if any.
    package let underlyingError: Errno?

    init(unknown name: String) {
        code = .unknownName
        self.name = name
        underlyingError = nil
    }

    init(_ error: Errno, name: String) {
        code =
            switch error {
            case .badFileDescriptor: .notOpen
            case .invalidArgument: .tooLarge
            case .noSpace: .tooMany
            default: .system
            }
        self.name = name
        underlyingError = error
    }

    /// The error in words, with what to do.
    public var description: String {
        "\(name.prefix(64)): \(code.text)" + (underlyingError.map { " (\($0))" } ?? "")
    }
}
