import SystemPackage

/// A file of values: a line `key value` each.
enum ValuesFile {
    /// Reads the file; lines without a value are passed over.
    static func load(_ path: String) throws -> [String: String] {
        let file = try FileDescriptor.open(FilePath(path), .readOnly)
        return try file.closeAfter {
            var bytes: [UInt8] = []
            var buffer = [UInt8](repeating: 0, count: 64 * 1024)
            while true {
                let count = try unsafe buffer.withUnsafeMutableBytes { try unsafe file.read(into: $0) }
                if count == 0 { break }
                bytes += buffer[..<count]
            }
            var values: [String: String] = [:]
            for line in String(decoding: bytes, as: UTF8.self).split(whereSeparator: \.isNewline) {
                let words = line.split(separator: " ", maxSplits: 1)
                if words.count == 2 { values[String(words[0])] = String(words[1]) }
            }
            return values
        }
    }
}
