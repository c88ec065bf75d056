import SystemPackage

/// A file that is read at once, as those of /proc and of control groups.
package enum SmallFile {
    /// Its text; nil if it cannot be read.
    ///
    /// - Parameter path: The path.
    /// - Returns: What is in it, up to a mebibyte.
    package static func text(_ path: String) -> String? {
        guard let file = try? OwnedDescriptor(reading: FilePath(path), followingLinks: true),
            let bytes = try? file.readAll(limit: 1 << 20)
        else { return nil }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The number that it begins with; nil if it cannot be read, or begins with something else.
    ///
    /// - Parameter path: The path.
    /// - Returns: The number.
    package static func number(_ path: String) -> UInt64? {
        text(path).flatMap { UInt64($0.split(whereSeparator: \.isWhitespace).first ?? "") }
    }

    /// The numbers of a text with a name and a number in each line, by their names.
    ///
    /// - Parameter text: The text.
    /// - Returns: Those lines that have this form.
    package static func numbers(in text: String) -> [Substring: UInt64] {
        var numbers: [Substring: UInt64] = [:]
        for line in text.split(separator: "\n") {
            let words = line.split(separator: " ")
            if words.count == 2, let number = UInt64(words[1]) { numbers[words[0]] = number }
        }
        return numbers
    }
}
