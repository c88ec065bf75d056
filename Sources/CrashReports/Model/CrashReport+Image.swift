extension CrashReport {
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

        /// Makes the description of an image.
        ///
        /// - Parameters:
        ///   - name: The last part of its path.
        ///   - path: Its path.
        ///   - base: The lowest address.
        ///   - end: The address after the highest.
        ///   - buildID: Its build identifier as hexadecimal digits, if it has one.
        public init(name: String, path: String, base: HexAddress, end: HexAddress, buildID: String? = nil) {
            self.name = name
            self.path = path
            self.base = base
            self.end = end
            self.buildID = buildID
        }
    }
}
