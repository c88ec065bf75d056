internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// Where the threads of other processes are: as the kernel says without stopping them (proc(5)), and their stacks.
enum ThreadPlaces {
    /// How many threads are told of.
    private static let most = 64
    /// How many bytes the lines may have: a record has a limit (`DeathRecord.maximumSize` of `CrashReports`).
    private static let mostBytes = 256 * 1024

    /// What the threads of a process do, and those of the other processes of its group: who hangs may be a worker.
    ///
    /// - Parameters:
    ///   - leader: The process that leads the group.
    ///   - hasStacks: Whether the stacks are read: threads stand still for that.
    /// - Returns: The lines; none if the processes are gone.
    static func lines(ofGroup leader: CInt, hasStacks: Bool) -> [String] {
        var lines: [String] = []
        var left = most
        for process in [leader] + others(ofGroup: leader) {
            let threads = threads(of: process)
            guard !threads.isEmpty else { continue }
            if process != leader { lines.append("process \(process)") }
            lines += self.lines(of: process, threads.prefix(left), hasStacks: hasStacks)
            if threads.count > left { lines.append("\(threads.count - left) more threads") }
            left = max(0, left - threads.count)
        }
        var bytes = 0
        let fitting = lines.prefix { line in
            bytes += line.utf8.count
            return bytes <= mostBytes
        }
        return fitting + (fitting.count < lines.count ? ["\(lines.count - fitting.count) more lines"] : [])
    }

    private static func threads(of process: CInt) -> [CInt] { numbers(in: "/proc/\(process)/task") }

    private static func numbers(in folder: String) -> [CInt] {
        guard let folder = try? FileDirectory(at: FilePath(folder)), let names = try? folder.names() else { return [] }
        return names.compactMap { CInt($0) }.sorted()
    }

    private static func others(ofGroup leader: CInt) -> [CInt] {
        numbers(in: "/proc").filter { $0 != leader && getpgid($0) == leader }
    }

    /// A line for each thread: its name, its state, and what it waits for; behind it one for each frame of its stack.
    private static func lines(of process: CInt, _ threads: ArraySlice<CInt>, hasStacks: Bool) -> [String] {
        // First: a thread that was stopped is in another system call for a moment.
        let lines = threads.map { thread in
            let place = "/proc/\(process)/task/\(thread)"
            var parts = ["thread \(thread) \"\(word("\(place)/comm") ?? "")\""]
            if let state = state(place) { parts.append(state) }
            if let call = word("\(place)/syscall")?.split(separator: " ").first, call != "running" {
                parts.append("system call \(Int(call).flatMap(SystemCallNames.name) ?? String(call))")
            }
            if let wait = word("\(place)/wchan"), wait != "0", !wait.isEmpty { parts.append("in \(wait)") }
            return parts.joined(separator: ", ")
        }
        let stacks = hasStacks ? ThreadStacks.lines(Array(threads), of: process) : [:]
        return zip(threads, lines).flatMap { [$1] + (stacks[$0] ?? []) }
    }

    /// The first line of a file, as far as it can be shown.
    private static func word(_ file: String) -> String? {
        SmallFile.text(file).map { text in
            String(
                text.unicodeScalars.prefix { $0 != "\n" }.filter { $0.value >= 0x20 }.prefix(64).map(Character.init)
            )
        }
    }

    private static func state(_ place: String) -> String? {
        let line = SmallFile.text("\(place)/status")?.split(separator: "\n").first { $0.hasPrefix("State:") }
        return line.map { $0.dropFirst(6).drop(while: \.isWhitespace).filter { $0.isASCII && $0 != "\t" } }
    }
}
