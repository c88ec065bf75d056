extension CrashReport {
    /// One call on a stack.
    public struct Frame: Codable, Sendable, Hashable {
        /// Its place, counted from 0, the innermost.
        public var index: Int
        /// The address of the instruction.
        public var address: HexAddress
        /// What the address is.
        public var kind: Kind
        /// The image the address lies in, as an index into the report's images.
        public var image: Int?
        /// The name of that image.
        public var imageName: String?
        /// The address relative to the base of that image.
        public var imageOffset: HexAddress?
        /// The function, demangled.
        public var function: String?
        /// The function as the symbol table names it.
        public var rawName: String?
        /// How many bytes into the function the address lies.
        public var functionOffset: Int?
        /// The path of the source file.
        public var file: String?
        /// The line in it, counted from 1.
        public var line: Int?
        /// The column in that line, counted from 1.
        public var column: Int?
        /// Whether the call was inlined into the next frame.
        public var inlined: Bool
        /// Whether it belongs to the program rather than to the system or a runtime.
        public var isUserCode: Bool

        /// Makes the description of a call.
        ///
        /// - Parameters:
        ///   - index: Its place, counted from 0, the innermost.
        ///   - address: The address of the instruction.
        ///   - kind: What the address is.
        ///   - image: The image the address lies in, as an index into the report's images.
        ///   - imageName: The name of that image.
        ///   - imageOffset: The address relative to the base of that image.
        ///   - function: The function, demangled.
        ///   - rawName: The function as the symbol table names it.
        ///   - functionOffset: How many bytes into the function the address lies.
        ///   - file: The path of the source file.
        ///   - line: The line in it, counted from 1.
        ///   - column: The column in that line, counted from 1.
        ///   - inlined: Whether the call was inlined into the next frame.
        ///   - isUserCode: Whether it belongs to the program rather than to the system or a runtime.
        public init(
            index: Int,
            address: HexAddress,
            kind: Kind,
            image: Int? = nil,
            imageName: String? = nil,
            imageOffset: HexAddress? = nil,
            function: String? = nil,
            rawName: String? = nil,
            functionOffset: Int? = nil,
            file: String? = nil,
            line: Int? = nil,
            column: Int? = nil,
            inlined: Bool = false,
            isUserCode: Bool
        ) {
            self.index = index
            self.address = address
            self.kind = kind
            self.image = image
            self.imageName = imageName
            self.imageOffset = imageOffset
            self.function = function
            self.rawName = rawName
            self.functionOffset = functionOffset
            self.file = file
            self.line = line
            self.column = column
            self.inlined = inlined
            self.isUserCode = isUserCode
        }
    }
}

extension CrashReport.Frame {
    /// What the address of a frame is.
    ///
    /// A value that this version does not know is kept as it is.
    public struct Kind: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// The instruction that faulted, or that a signal interrupted.
        public static let programCounter = Kind(rawValue: "programCounter")
        /// The instruction after a call.
        public static let returnAddress = Kind(rawValue: "returnAddress")
    }
}
