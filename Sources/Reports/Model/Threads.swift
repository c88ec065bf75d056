extension CrashReport {
    /// One thread: the one that faulted, or another.
    public struct Thread: Codable, Sendable, Hashable {
        package typealias State = CrashReport.Word

        /// The thread identifier, as `gettid` gives it.
        public var id: Int
        /// Its name, if it has one of its own.
        public var name: String?
        /// Whether it is the main thread.
        public var isMain: Bool
        /// Its calls, the innermost first.
        public var frames: [Frame]
        /// How many frames in the middle or at the end were left out.
        public var framesOmitted: Int = 0
        /// Whether the walk ended before the end of the stack.
        public var framesTruncated: Bool = false
        /// The registers, by name; of another thread than the one that faulted, those that tell where it is.
        public var registers: [String: HexAddress] = [:]
        /// What the kernel said of it; nil for the thread that faulted, and where it is not known.
        public var state: CrashReport.Word?
        /// The system call it was in, such as `futex`, if it was in one and that is known.
        public var systemCall: String?
        /// How long after the fault its stack was taken, in seconds; nil for the thread that faulted.
        public var sampledAfter: Double?
    }

    /// One call on a stack.
    public struct Frame: Codable, Sendable, Hashable {
        package typealias Kind = CrashReport.Word

        /// Its place, counted from 0, the innermost.
        public var index: Int
        /// The address of the instruction.
        public var address: HexAddress
        /// What the address is.
        public var kind: CrashReport.Word
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
        public var inlined: Bool = false
        /// Whether it belongs to the program rather than to the system or a runtime.
        public var isUserCode: Bool
    }

    /// A file that was mapped as code.
    public struct Image: Codable, Sendable, Hashable {
        /// The last part of its path.
        public var name: String
        /// Its path.
        public var path: String
        /// The lowest address.
        public var base: HexAddress
        /// The address after the highest.
        public var end: HexAddress
        /// Its build identifier as hexadecimal digits, if it has one.
        public var buildID: String?
    }

    /// Where the fault happened: the innermost frame of user code, else the innermost frame.
    ///
    /// It reads `function (File.swift:12)`, with the image and the offset where the function is not known. Of a stall, it is the
    /// function of the program in which the thread was all the time.
    public var location: String {
        if let culprit = stall?.profile?.culprit { return culprit.location }
        let frames = thread.frames.filter { $0.runtimeFailure == nil }
        return (frames.first(where: \.isApplicationCode) ?? frames.first)?.location ?? "unknown"
    }

    /// What the runtime checked when the fault happened, such as `arithmetic overflow`, if debug information says so.
    package var runtimeFailure: String? { thread.frames.runtimeFailure }
}

extension [CrashReport.Frame] {
    /// What the runtime checked at the innermost address.
    var runtimeFailure: String? {
        prefix { $0.inlined || $0.index == 0 }.lazy.compactMap(\.runtimeFailure).first
    }
}

extension CrashReport.Frame {
    /// The compiler marks a check of its own by an inlined function of this name.
    private static let runtimeFailurePrefix = "Swift runtime failure: "

    /// What the runtime checked here, such as `arithmetic overflow`, if the frame stands for a check.
    package var runtimeFailure: String? {
        guard let function, function.hasPrefix(Self.runtimeFailurePrefix) else { return nil }
        return String(function.dropFirst(Self.runtimeFailurePrefix.count))
    }

    /// What the function does there, if it is an async one that waits; nil of a call on the stack.
    package var asyncRole: String? {
        switch kind {
        case .await: "awaits"
        case .parentAwait: "parent task awaits"
        default: nil
        }
    }

    /// Whether somebody wrote this function: user code, and not a check that the compiler put into it.
    package var isApplicationCode: Bool { isUserCode && runtimeFailure == nil }

    /// Where the frame is: `function (File.swift:12)`, else image and offset, else the address.
    public var location: String {
        guard let function else { return imageLocation ?? address.description }
        guard let source = sourceLocation else { return function }
        return "\(function) (\(source))"
    }

    /// The image and the offset in it, such as `libc.so.6+0x8ae3c`, if they are known.
    package var imageLocation: String? {
        guard let imageName else { return nil }
        guard let imageOffset else { return imageName }
        return "\(imageName)+\(imageOffset)"
    }

    /// The name of the source file and the line, such as `File.swift:12`, if they are known.
    package var sourceLocation: String? {
        guard let file, let name = file.split(separator: "/").last else { return nil }
        guard let line, line > 0 else { return String(name) }
        return "\(name):\(line)"
    }
}
