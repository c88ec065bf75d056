internal import LinuxSystem
internal import SystemPackage

/// Some lines of a source file around one of them.
package struct SourceExcerpt: Sendable, Hashable {
    /// A line of source.
    package struct Line: Sendable, Hashable {
        /// Its number, counted from 1.
        package let number: Int
        /// Its text.
        package let text: String
    }

    /// The largest file that is looked into, in bytes.
    package static let maximumBytes = 1 << 20

    /// The lines.
    package let lines: [Line]
    /// When the file was written last, in nanoseconds since 1970.
    package let modified: Int64

    /// Reads lines of a file, if it is a source file as far as can be told.
    ///
    /// The path comes out of a report, so it can be anything, and text that shows a report is passed on: only a regular
    /// file of less than 1 MiB with the extension of a source file is read, and nothing else is even opened.
    ///
    /// - Parameters:
    ///   - path: The path, from the root; any other one makes `nil`.
    ///   - number: The line in the middle, counted from 1; one that the file does not have makes `nil`.
    ///   - context: How many lines to add on each side.
    package init?(path: String, line number: Int, context: Int) {
        let path = FilePath(path)
        guard path.isAbsolute, Self.extensions.contains(path.extension ?? ""), number > 0,
            let status = try? FileStatus(of: path), Self.accepts(status),
            let file = try? OwnedDescriptor(reading: path, followingLinks: false),
            let opened = try? FileStatus(of: file), Self.accepts(opened),
            let bytes = try? file.readAll(limit: Self.maximumBytes), bytes.count < Self.maximumBytes
        else { return nil }
        modified = opened.modified
        let all = bytes.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false)
        guard number <= all.count else { return nil }
        let range = max(1, number - context)...min(all.count, number + context)
        lines = range.map { number in
            let text = String(decoding: all[number - 1], as: UTF8.self)
            return Line(
                number: number,
                text: text.split(separator: "\t", omittingEmptySubsequences: false).joined(separator: "    ")
            )
        }
    }

    private static let extensions: Set = [
        "swift", "c", "h", "cc", "cpp", "cxx", "hh", "hpp", "m", "mm", "s", "S", "inc",
    ]

    private static func accepts(_ status: FileStatus) -> Bool {
        // Files of `/proc` call themselves regular, with a size of zero.
        status.kind == .regular && (1..<Int64(maximumBytes)).contains(status.size)
    }
}
