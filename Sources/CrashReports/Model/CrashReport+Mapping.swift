extension CrashReport.Fault {
    /// A piece of the address space: what a fault's address lies in, or next to.
    public struct Mapping: Codable, Sendable, Hashable {
        /// Where the address is.
        public var place: Place
        /// How many bytes from the start of the mapping if it is inside, else how far away; the byte behind the end is 0 bytes past it.
        public var distance: Int
        /// The path of the file that is mapped, or what `/proc/PID/maps` has in its place, such as `[heap]`; empty for memory
        /// of no name.
        public var name: String
        /// The address of the first byte.
        public var start: HexAddress
        /// The address after the last byte.
        public var end: HexAddress
        /// What may be done with it, as in `/proc/PID/maps`, such as `rw-p`.
        public var permissions: String

        /// Makes the description of a mapping.
        public init(place: Place, distance: Int, name: String, start: HexAddress, end: HexAddress, permissions: String)
        {
            self.place = place
            self.distance = distance
            self.name = name
            self.start = start
            self.end = end
            self.permissions = permissions
        }
    }
}

extension CrashReport.Fault.Mapping {
    /// Where an address is, as seen from a mapping.
    ///
    /// A value that this version does not know is kept as it is.
    public struct Place: RawRepresentable, Codable, Sendable, Hashable {
        /// The value in JSON.
        public let rawValue: String

        /// Takes a value.
        ///
        /// - Parameter rawValue: The value in JSON.
        public init(rawValue: String) {
            self.rawValue = rawValue
        }

        /// In it.
        public static let inside = Place(rawValue: "inside")
        /// Behind its end, where nothing is mapped.
        public static let after = Place(rawValue: "after")
        /// Before its start, where nothing is mapped.
        public static let before = Place(rawValue: "before")
    }

    /// What it is, such as `the writable data of /usr/lib/x.so`.
    var words: String {
        let part: String
        switch name {
        case "": return permissions.hasPrefix("---") ? "memory that is kept free" : "memory of no name"
        case "[heap]": return "the heap"
        case "[stack]": return "the main thread's stack"
        case _ where name.hasPrefix("["): return name
        case _ where permissions.contains("x"): part = "the code of "
        case _ where permissions.contains("w"): part = "the writable data of "
        case _ where permissions.hasPrefix("r"): part = "the read-only data of "
        default: part = "a reserved part of "
        }
        return part + name
    }

    /// Where the address is, such as `16 bytes past the end of the heap`.
    var sentence: String {
        switch place {
        case .inside: "in \(words)"
        case .after: distance == 0 ? "at the end of \(words)" : "\(distance) bytes past the end of \(words)"
        case .before: "\(distance) bytes before the start of \(words)"
        default: "near \(words)"
        }
    }
}
