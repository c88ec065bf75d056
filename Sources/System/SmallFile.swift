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
}
