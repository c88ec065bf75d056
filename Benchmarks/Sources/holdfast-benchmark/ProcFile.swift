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

    /// The numbers in lines such as `Threads:	3`, by their names.
    static func numbers(of path: String) -> [Substring: Int] {
        var numbers: [Substring: Int] = [:]
        for line in lines(of: path) {
            let words = line.split(whereSeparator: { $0 == ":" || $0 == "\t" || $0 == " " })
            if words.count >= 2, let value = Int(words[1]) { numbers[words[0]] = value }
        }
        return numbers
    }

    static func names(in folder: String) -> [String] {
        (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    }

    /// Removes a folder with what is in it.
    static func remove(_ folder: String) { try? FileManager.default.removeItem(atPath: folder) }

    /// Removes the files in a folder.
    static func empty(_ folder: String) {
        for name in names(in: folder) { unsafe unlink(folder + "/" + name) }
    }

    /// What a symbolic link leads to; nil for anything else.
    static func target(of path: String) -> String? {
        try? FileManager.default.destinationOfSymbolicLink(atPath: path)
    }
}

/// What a process holds, as /proc/PID tells it.
struct ProcessSample {
    /// Open descriptors but for those of `symbolFiles`.
    var descriptors: Int
    /// Files of the program, of its libraries and of their debug information that are open.
    ///
    /// The report writer keeps each open that it has read names from: which depends on where the threads were in faults.
    var symbolFiles: Int
    /// Files that are mapped, the program and its libraries among them.
    var mappedFiles: Int
    var threads: Int
    var mappings: Int
    /// In bytes.
    var residentMemory: Int

    /// Takes the sample; nil if there is no such process.
    init?(pid: Int) {
        let folder = "/proc/\(pid)"
        let fields = ProcFile.numbers(of: folder + "/status")
        guard let threads = fields["Threads"], let memory = fields["VmRSS"] else { return nil }
        self.threads = threads
        residentMemory = memory * 1024
        let maps = ProcFile.lines(of: folder + "/maps")
        mappings = maps.count
        // proc_pid_maps(5): the path is what begins with a slash.
        let mapped = Set(maps.compactMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } })
        mappedFiles = mapped.count
        let links = ProcFile.names(in: folder + "/fd").map { ProcFile.target(of: folder + "/fd/" + $0) }
        symbolFiles = links.count { $0.map { mapped.contains($0) || $0.hasPrefix("/usr/lib/debug/") } ?? false }
        descriptors = links.count - symbolFiles
    }
}
