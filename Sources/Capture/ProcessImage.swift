internal import CCrashCapture
internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// What this process was started as, byte for byte.
enum ProcessImage {
    /// The path of the file that the kernel executed; where proc(5) is not mounted, the path by which it was, or nil.
    ///
    /// It is the dynamic loader's when that was told to run the program (`ld.so ./program`), see `program`. A restart runs
    /// what lies there then: a new version, if it was replaced. When nothing that can be executed lies there, it runs the
    /// image of this process again (`/proc/self/exe`), which a deleted file still has.
    static var executable: [UInt8]? { executable(of: "self") ?? nameAtStart }

    /// What proc(5) says of a process, by its number; nil also where it is gone, or another user's.
    static func executable(of process: String) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe readlink("/proc/\(process)/exe", $0, bytes.count) } ?? -1
        }
        return count > 0 ? withoutMark(Array(buffer.prefix(count))) : nil
    }

    /// The path that the process was started by, if it says where the file is whatever the current folder: a restart keeps that.
    private static var nameAtStart: [UInt8]? {
        guard let name = unsafe hf_program_name_at_start() else { return nil }
        let path = unsafe Array(String(cString: name).utf8)
        return path.first == UInt8(ascii: "/") ? path : nil
    }

    /// The path of the program's own file, as reports have it; nil where proc(5) is not mounted.
    static var program: [UInt8]? {
        let address = hf_program_without_interpreter()
        return address == 0 ? executable : mappedFile(at: address).map(withoutMark) ?? executable
    }

    /// The path by which the program's file can be read; nil where there is none.
    ///
    /// Unless a loader was told to run it, the path names that file whatever has taken its place since.
    static var programFile: String? {
        guard hf_program_without_interpreter() != 0 else { return "/proc/self/exe" }
        return program.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func mappedFile(at address: UInt64) -> [UInt8]? {
        for line in (file("/proc/self/maps") ?? []).split(separator: UInt8(ascii: "\n")) {
            // "start-end permissions offset device inode   path" (proc_pid_maps(5)).
            let fields = line.split(separator: UInt8(ascii: " "), maxSplits: 5)
            guard fields.count == 6, let range = range(fields[0]), range.contains(address) else { continue }
            return Array(fields[5].drop { $0 == UInt8(ascii: " ") })
        }
        return nil
    }

    private static func range(_ text: some Collection<UInt8>) -> Range<UInt64>? {
        let bounds = text.split(separator: UInt8(ascii: "-")).map {
            UInt64(String(decoding: $0, as: UTF8.self), radix: 16)
        }
        guard bounds.count == 2, let start = bounds[0], let end = bounds[1], start < end else { return nil }
        return start..<end
    }

    private static func withoutMark(_ path: [UInt8]) -> [UInt8] {
        // What the kernel says of a file that is gone (proc(5)): its place may be taken again by the time of a restart.
        let mark = Array(" (deleted)".utf8)
        guard path.count > mark.count, path.suffix(mark.count) == mark[...], !exists(path) else { return path }
        return path.dropLast(mark.count)
    }

    /// The arguments, the program's name first.
    ///
    /// As the kernel has them, or as they were at the start. The standard library repairs what is not UTF-8.
    static var arguments: [[UInt8]] {
        if let bytes = file("/proc/self/cmdline"), bytes.last == 0 {
            return bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
        }
        return argumentsAtStart
    }

    /// The arguments that the process was given: the standard library, too, asks proc(5) for them.
    private static var argumentsAtStart: [[UInt8]] {
        (0..<hf_program_argument_count()).compactMap { index in
            guard let text = unsafe hf_program_argument(index) else { return nil }
            return unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
        }
    }

    /// When the process began, in clock ticks since the boot; 0 where proc(5) is not mounted.
    ///
    /// With the pid it names the process: execve(2) changes neither.
    static var startTime: UInt64 {
        // The name in parentheses may hold anything (proc(5), stat); starttime is the 20th field behind it.
        guard let bytes = file("/proc/self/stat"), let end = bytes.lastIndex(of: UInt8(ascii: ")")) else { return 0 }
        let fields = bytes[(end + 1)...].split(separator: UInt8(ascii: " "))
        return fields.count > 19 ? UInt64(String(decoding: fields[19], as: UTF8.self)) ?? 0 : 0
    }

    private static func exists(_ path: [UInt8]) -> Bool {
        let string = unsafe CStringList.copy(path)
        defer { unsafe string.deallocate() }
        return unsafe access(string, F_OK) == 0
    }

    /// The bytes of a file; nil when it cannot be read.
    static func file(_ path: String) -> [UInt8]? {
        try? OwnedDescriptor(reading: FilePath(path), followingLinks: true).readAll(limit: 1 << 30)
    }
}

// MARK: As others see it

extension CrashCapture {
    /// The path of the executable of this process, as reports have it; "" where it cannot be had.
    package static var executable: String {
        String(decoding: ProcessImage.program ?? ProcessImage.arguments.first ?? [], as: UTF8.self)
    }

    /// The arguments of this process as records have them: as far as they may be told, and find room.
    ///
    /// - Parameter told: What may be told of them, as `Configuration.tellingArguments` has it.
    /// - Returns: The arguments, the program's name first.
    package static func arguments(telling told: ([[UInt8]]) -> [[UInt8]]) -> [String] {
        ProcessIdentity.withRoom(told(ProcessImage.arguments)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The control group of this process; "" where it has none or is in a namespace of its own.
    package static var controlGroup: String {
        ControlGroups(ProcessImage.file("/proc/self/cgroup").map { String(decoding: $0, as: UTF8.self) } ?? "").path
    }

    /// Whether a process of this executable that has this pid is alive; not this process.
    package static func isAlive(pid: Int) -> Bool {
        guard let pid = CInt(exactly: pid), pid > 0, pid != getpid() else { return false }
        guard let own = ProcessImage.executable(of: "self") else { return kill(pid, 0) == 0 }
        return ProcessImage.executable(of: "\(pid)") == own
    }

    /// Whether this is a set-user-ID or set-group-ID program that another user than root executed: its environment is theirs.
    package static var actsForAnother: Bool { hf_acts_for_another() }

    /// The path by which the file of the executable can be read; nil where there is none.
    ///
    /// If possible it is one that names this file whatever has taken its place since.
    package static var executableFile: String? { ProcessImage.programFile }
}
