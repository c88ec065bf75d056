import FoundationEssentials
import Glibc

/// Small text files, those of /proc above all.
enum ProcFile {
    static func lines(of path: String) -> [Substring] {
        // Not `FileManager.contents(atPath:)`: that ends at the first read(2) that gives less than was asked for, which for /proc/PID/maps is
        // the first page of it.
        let file = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return [] }
        defer { close(file) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = unsafe read(file, &buffer, buffer.count)
            guard count > 0 else { break }
            bytes += buffer.prefix(count)
        }
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
