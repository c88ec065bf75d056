import FoundationEssentials
import LinuxSystem
import SystemPackage

/// Small text files, those of /proc above all.
enum ProcFile {
    static func lines(of path: String) -> [Substring] {
        // Not `FileManager.contents(atPath:)`: that ends at the first read(2) that gives less than was asked for, which for /proc/PID/maps is
        // the first page of it.
        guard let file = try? OwnedDescriptor(reading: FilePath(path), followingLinks: true),
            let bytes = try? file.readAll(limit: 1 << 26)
        else { return [] }
        return String(decoding: bytes, as: UTF8.self).split(separator: "\n")
    }

    static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// What a symbolic link leads to; nil for anything else.
    static func target(of path: String) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: path)
    }
}
