import Glibc
import RunLoops
import StallDetection

/// Loops with nothing to do, beside one that is busy and not watched: the watcher must not wake once.
struct QuietWatch {
    let loops: Int

    func run() throws -> [String] {
        let monitor = StallMonitor { _ in }
        let threads = try (0..<loops).map { try HostRunLoop.LoopThread(name: "quiet \($0)") }
        for thread in threads { try monitor.watch(thread.loop) }
        // Each has begun its run.
        for thread in threads { _ = try thread.loop.performAndWait {} }
        let busy = try HostRunLoop.LoopThread(name: "not watched")
        busy.loop.add(HostRunLoop.Timer(label: "busy", after: .zero, repeating: .milliseconds(2)) { _ in })
        // Until all sleep, and the watcher, too: it looks once more after the last of them fell asleep.
        var before = Self.wakeUps()
        var quiet = 0
        for _ in 0..<50 where quiet < 3 {
            usleep(200_000)
            let now = Self.wakeUps()
            quiet = now == before ? quiet + 1 : 0
            before = now
        }
        sleep(2)
        let count = (Self.wakeUps() ?? -1) - (before ?? 0)
        busy.stop()
        busy.join()
        say("\(loops) idle loops: the watcher woke \(count) times in 2 s")
        monitor.stop()
        for thread in threads { thread.stop() }
        for thread in threads { thread.join() }
        return count == 0 ? [] : ["the watcher woke \(count) times while \(loops) loops slept"]
    }

    /// How often the watcher has given up its processor, as the kernel counts it; nil if there is no such thread.
    private static func wakeUps() -> Int? {
        guard let folder = opendir("/proc/self/task") else { return nil }
        defer { closedir(folder) }
        while let entry = readdir(folder) {
            let name = withUnsafePointer(to: &entry.pointee.d_name) { pointer in
                pointer.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
            }
            guard let text = contents(of: "/proc/self/task/\(name)/status"), text.hasPrefix("Name:\tholdfast-stalls\n")
            else { continue }
            let line = text.split(separator: "\n").first { $0.hasPrefix("voluntary_ctxt_switches:") }
            return line.flatMap { Int($0.drop { !$0.isNumber }) }
        }
        return nil
    }

    private static func contents(of path: String) -> String? {
        guard let file = fopen(path, "r") else { return nil }
        defer { fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 16 << 10)
        let count = fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes.prefix(count), as: UTF8.self)
    }
}
