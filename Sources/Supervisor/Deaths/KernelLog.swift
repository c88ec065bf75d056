internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// What the kernel's log says of a process that has ended.
struct KernelLogEntry: Sendable, Equatable {
    /// What happened.
    enum Event: Sendable, Equatable {
        /// The kernel was out of memory and chose this process. The limit is that of a control group, or nil for the machine's memory.
        case outOfMemory(limitedBy: String?, victimsGroup: String?)
        /// It was killed for want of memory, of a control group or of the machine: alone, or with all others of a group (memory.oom.group).
        case outOfMemoryKill(ofGroup: Bool)
        /// A fault that it did not handle.
        case fault
        /// A system call that a seccomp filter forbids.
        case seccomp
    }

    let event: Event
    let pid: CInt
    /// The number of the record.
    var number: UInt64 = 0
    /// The line, without its head.
    let text: String

    /// Reads a line of the log; nil if it is about nothing of the kind.
    init?(line: String) {
        if let rest = Self.part(of: line, after: "oom-kill:") {
            var fields: [Substring: Substring] = [:]
            for field in rest.split(separator: ",") {
                let pair = field.split(separator: "=", maxSplits: 1)
                if pair.count == 2 { fields[pair[0]] = pair[1] }
            }
            guard let pid = fields["pid"].flatMap({ CInt($0) }) else { return nil }
            let isGroups = fields["constraint"] == "CONSTRAINT_MEMCG"
            event = .outOfMemory(
                limitedBy: isGroups ? fields["oom_memcg"].map(String.init) : nil,
                victimsGroup: fields["task_memcg"].map(String.init)
            )
            self.pid = pid
        } else if let rest = Self.part(of: line, after: "ut of memory: Killed process ") {
            guard let pid = Self.number(rest) else { return nil }
            event = .outOfMemoryKill(ofGroup: line.hasPrefix("Memory cgroup"))
            self.pid = pid
        } else if let rest = Self.part(of: line, after: "type=1326 ") {
            // AUDIT_SECCOMP (linux/include/uapi/linux/audit.h).
            guard let pid = Self.part(of: rest, after: " pid=").flatMap(Self.number) else { return nil }
            event = .seccomp
            self.pid = pid
        } else if let pid = Self.faulted(line) {
            event = .fault
            self.pid = pid
        } else {
            return nil
        }
        text = String(line.prefix(400))
    }

    /// `name[pid]: segfault at …` and `traps: name[pid] trap invalid opcode …` (linux/arch/x86/mm/fault.c, kernel/traps.c).
    ///
    /// The name is the process's own choice, and so is that of its file, behind it. Names have at most 15 bytes (TASK_COMM_LEN), so the last
    /// mark that such a name leaves room for is the kernel's.
    private static func faulted(_ line: String) -> CInt? {
        let marks = ["]: segfault at ", "] trap ", "] general protection fault ", "] bad frame in "]
        let first = line.prefix("traps: ".count + 15 + "[1234567890".count)
        for end in first.indices.reversed() where marks.contains(where: line[end...].hasPrefix) {
            guard let begin = line[..<end].lastIndex(of: "[") else { return nil }
            return number(line[line.index(after: begin)...])
        }
        return nil
    }

    private static func range(of mark: String, in text: String) -> String.Index? {
        var place = text.startIndex
        while place < text.endIndex {
            if text[place...].hasPrefix(mark) { return place }
            place = text.index(after: place)
        }
        return nil
    }

    private static func part(of text: some StringProtocol, after mark: String) -> Substring? {
        let text = String(text)
        guard let place = range(of: mark, in: text) else { return nil }
        return Substring(text[text.index(place, offsetBy: mark.count)...])
    }

    private static func number(_ text: Substring) -> CInt? { CInt(text.prefix { $0.isASCII && $0.isNumber }) }
}

/// The kernel's log from now on: /dev/kmsg.
///
/// Reading it needs CAP_SYSLOG where dmesg_restrict is set. Its numbers of processes are those of the topmost namespace, so in another one it
/// says nothing.
@MainActor
final class KernelLog {
    /// Open as long as the supervisor lives; nil if it cannot be read.
    private let descriptor: CInt?

    /// Opens it, if it may be read and its numbers are ours.
    init() {
        guard Self.numbersAreOurs,
            let opened = try? OwnedDescriptor(reading: FilePath("/dev/kmsg"), followingLinks: true)
        else {
            descriptor = nil
            return
        }
        // What was before is about others.
        if lseek(opened.rawValue, 0, SEEK_END) >= 0 {
            descriptor = opened.release()
        } else {
            descriptor = nil
        }
    }

    /// Whether anything can be read.
    var isReadable: Bool { descriptor != nil }

    /// PROC_PID_INIT_INO of linux/include/linux/proc_ns.h.
    private static var numbersAreOurs: Bool {
        var buffer = [CChar](repeating: 0, count: 64)
        let size = buffer.count
        let count = unsafe readlink("/proc/self/ns/pid", &buffer, size)
        guard count > 0 else { return false }
        return String(decoding: buffer.prefix(count).map { UInt8(bitPattern: $0) }, as: UTF8.self) == "pid:[4026531836]"
    }

    /// What was read of others whose ends were not taken yet.
    private var recent: [KernelLogEntry] = []

    /// The number of the last record.
    private var last: UInt64 = 0

    /// A place in the log: what comes behind it is not about a process that had ended before.
    ///
    /// By its time that could not be told: the log's clock is not the monotonic one, which is adjusted.
    struct Mark: Sendable {
        fileprivate let number: UInt64
    }

    /// The end of the log, as it is now.
    func mark() -> Mark {
        readOn()
        return Mark(number: last)
    }

    /// What the log says of a process that has ended.
    ///
    /// - Parameters:
    ///   - pid: The process.
    ///   - mark: The end of the log before it was started: another one may have had its number before.
    /// - Returns: What was not told before.
    func entries(of pid: CInt, after mark: Mark) -> [KernelLogEntry] {
        readOn()
        defer { recent.removeAll { $0.pid == pid } }
        return recent.filter { $0.pid == pid && $0.number > mark.number }
    }

    private func readOn() {
        // Enough for a machine that kills many at once.
        recent = (recent + take()).suffix(512)
    }

    private func take() -> [KernelLogEntry] {
        guard let number = descriptor else { return [] }
        var entries: [KernelLogEntry] = []
        var buffer = [UInt8](repeating: 0, count: 8192)
        let size = buffer.count
        // A record for each call; a log that is written faster than this must not hold the supervisor.
        for _ in 0..<20_000 {
            let count = unsafe read(number, &buffer, size)
            if count < 0 {
                // Records that were overwritten before they were read (EPIPE) are lost.
                if errno == EPIPE || errno == EINTR { continue }
                break
            }
            guard count > 0 else { break }
            // `priority,number,microseconds,flags;text` (linux/Documentation/ABI/testing/dev-kmsg).
            let parts = buffer[..<count].split(separator: UInt8(ascii: ";"), maxSplits: 1)
            guard parts.count == 2 else { continue }
            let head = String(decoding: parts[0], as: UTF8.self).split(separator: ",")
            guard head.count > 1, let priority = Int(head[0]), let record = UInt64(head[1]) else { continue }
            last = record
            let line = String(decoding: parts[1].prefix { $0 != 10 }, as: UTF8.self)
            // Facility 0 is the kernel's: what others write into the log has another one (linux/kernel/printk/printk.c, devkmsg_write).
            guard priority >> 3 == 0, var entry = KernelLogEntry(line: line) else { continue }
            entry.number = record
            entries.append(entry)
        }
        return entries
    }
}
