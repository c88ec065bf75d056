extension CrashReport.Stall {
    /// Where a thread was during a stall: the stacks of all samples, merged from the outermost call on.
    public struct Profile: Codable, Sendable, Hashable {
        /// How many samples were taken.
        public var samples: Int
        /// The time that they stand for, in seconds.
        public var seconds: Double
        /// The calls, each followed by those that it made: the heaviest path comes first.
        public var calls: [Call]
        /// How many calls more there were, which took the least time.
        public var callsOmitted: Int

        /// Makes a profile.
        ///
        /// - Parameters:
        ///   - samples: How many samples were taken.
        ///   - seconds: The time that they stand for, in seconds.
        ///   - calls: The calls, each followed by those that it made.
        ///   - callsOmitted: How many calls more there were.
        public init(samples: Int, seconds: Double, calls: [Call], callsOmitted: Int = 0) {
            self.samples = samples
            self.seconds = seconds
            self.calls = calls
            self.callsOmitted = callsOmitted
        }
    }

    /// A function in a profile, as it was called from one place in the tree.
    public struct Call: Codable, Sendable, Hashable {
        /// How many calls it is away from the outermost one, which has 0.
        public var depth: Int
        /// How long the thread was in it or in what it called, in seconds.
        public var seconds: Double
        /// In how many samples it was.
        public var samples: Int
        /// One of the addresses that were seen in it.
        public var address: HexAddress
        /// The function, demangled.
        public var function: String?
        /// The name of the image.
        public var imageName: String?
        /// The address relative to the base of that image.
        public var imageOffset: HexAddress?
        /// The path of the source file.
        public var file: String?
        /// The lines that were seen in it, the one that took longest first.
        public var lines: [LineTime]
        /// Whether it was inlined into the call before it in depth.
        public var inlined: Bool
        /// Whether it belongs to the program rather than to the system or a runtime.
        public var isUserCode: Bool

        /// Makes a call.
        ///
        /// - Parameters:
        ///   - depth: How many calls it is away from the outermost one.
        ///   - seconds: How long the thread was in it or in what it called, in seconds.
        ///   - samples: In how many samples it was.
        ///   - address: One of the addresses that were seen in it.
        ///   - function: The function, demangled.
        ///   - imageName: The name of the image.
        ///   - imageOffset: The address relative to the base of that image.
        ///   - file: The path of the source file.
        ///   - lines: The lines that were seen in it.
        ///   - inlined: Whether it was inlined.
        ///   - isUserCode: Whether it belongs to the program.
        public init(
            depth: Int,
            seconds: Double,
            samples: Int,
            address: HexAddress,
            function: String? = nil,
            imageName: String? = nil,
            imageOffset: HexAddress? = nil,
            file: String? = nil,
            lines: [LineTime] = [],
            inlined: Bool = false,
            isUserCode: Bool
        ) {
            self.depth = depth
            self.seconds = seconds
            self.samples = samples
            self.address = address
            self.function = function
            self.imageName = imageName
            self.imageOffset = imageOffset
            self.file = file
            self.lines = lines
            self.inlined = inlined
            self.isUserCode = isUserCode
        }

        /// What it is, without a line: the function, else image and offset, else the address.
        public var name: String {
            if let function { return function }
            guard let imageName else { return address.description }
            return imageOffset.map { "\(imageName)+\($0)" } ?? imageName
        }

        /// Where it is: `function (File.swift:12)`, with the line that took longest.
        public var location: String {
            guard function != nil, let file, let source = file.split(separator: "/").last else { return name }
            guard let line = lines.first?.line else { return "\(name) (\(source))" }
            return "\(name) (\(source):\(line))"
        }
    }

    /// How long a thread was at a line.
    public struct LineTime: Codable, Sendable, Hashable {
        /// The line, counted from 1.
        public var line: Int
        /// How long, in seconds.
        public var seconds: Double

        /// Makes an entry.
        ///
        /// - Parameters:
        ///   - line: The line, counted from 1.
        ///   - seconds: How long, in seconds.
        public init(line: Int, seconds: Double) {
            self.line = line
            self.seconds = seconds
        }
    }
}
