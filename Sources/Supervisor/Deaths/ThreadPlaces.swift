internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// Where the threads of another process are, as the kernel says without stopping them: proc(5).
enum ThreadPlaces {
    /// How many threads are told of.
    private static let most = 64

    /// A line for each thread: its name, its state, and what it waits for.
    ///
    /// - Parameter pid: The process.
    /// - Returns: The lines; none if the process is gone.
    static func lines(of pid: CInt) -> [String] {
        guard let folder = try? FileDirectory(at: FilePath("/proc/\(pid)/task")), let names = try? folder.names() else {
            return []
        }
        let threads = names.compactMap { CInt($0) }.sorted()
        let lines = threads.prefix(most).map { thread in
            let place = "/proc/\(pid)/task/\(thread)"
            func word(_ file: String) -> String? {
                SmallFile.text("\(place)/\(file)").map { text in
                    String(
                        text.unicodeScalars.prefix { $0 != "\n" }.filter { $0.value >= 0x20 }.prefix(64).map(
                            Character.init
                        )
                    )
                }
            }
            var parts = ["thread \(thread) \"\(word("comm") ?? "")\""]
            if let state = state(place) { parts.append(state) }
            if let call = word("syscall")?.split(separator: " ").first, call != "running" {
                parts.append("system call \(Int(call).flatMap(SystemCallNames.name) ?? String(call))")
            }
            if let wait = word("wchan"), wait != "0", !wait.isEmpty { parts.append("in \(wait)") }
            return parts.joined(separator: ", ")
        }
        return lines + (threads.count > most ? ["\(threads.count - most) more threads"] : [])
    }

    private static func state(_ place: String) -> String? {
        let line = SmallFile.text("\(place)/status")?.split(separator: "\n").first { $0.hasPrefix("State:") }
        return line.map { $0.dropFirst(6).drop(while: \.isWhitespace).filter { $0.isASCII && $0 != "\t" } }
    }
}
