internal import CCrashCapture
internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// The executable and the arguments with which this process was started, byte for byte.
enum ProcessImage {
    /// The path of the file that the kernel executed.
    ///
    /// If proc(5) is not mounted: the path by which it was executed, or nil.
    ///
    /// If the dynamic loader was told to run the program (`ld.so ./program`), this is the loader; see `program`. A restart runs whatever
    /// the path names by then: a new version, if the file was replaced. If that cannot be executed, the restart runs the image of this
    /// process again (`/proc/self/exe`), which even a deleted file still has.
    static var executable: [UInt8]? { executable(of: "self") ?? nameAtStart }

    /// The executable of a process, by its number, from proc(5); nil if the process is gone, or another user's.
    static func executable(of process: String) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe readlink("/proc/\(process)/exe", $0, bytes.count) } ?? -1
        }
        return count > 0 ? withoutMark(Array(buffer.prefix(count))) : nil
    }

    /// The path by which the process was started, if it does not depend on the current folder; a restart keeps it.
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

    /// The path by which the program's file can be read; nil if there is none.
    ///
    /// Unless a loader was told to run the program, the path names this file even if another one has taken its place since.
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
        // How the kernel marks a file that is gone (proc(5)). Its place may be taken again by the time of a restart.
        let mark = Array(" (deleted)".utf8)
        guard path.count > mark.count, path.suffix(mark.count) == mark[...], !exists(path) else { return path }
        return path.dropLast(mark.count)
    }

    /// The arguments, the program's name first.
    ///
    /// From the kernel, or as they were at the start. The standard library would repair bytes that are not UTF-8.
    static var arguments: [[UInt8]] {
        if let bytes = file("/proc/self/cmdline"), bytes.last == 0 {
            return bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
        }
        return argumentsAtStart
    }

    /// The arguments from the start of the process; the standard library, too, reads proc(5).
    private static var argumentsAtStart: [[UInt8]] {
        (0..<hf_program_argument_count()).compactMap { index in
            guard let text = unsafe hf_program_argument(index) else { return nil }
            return unsafe Array(UnsafeRawBufferPointer(start: text, count: strlen(text)))
        }
    }

    /// When the process began, in clock ticks since the boot; 0 if proc(5) is not mounted.
    ///
    /// With the pid it identifies the process: execve(2) changes neither.
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
    /// The path of the executable of this process, as reports have it; "" if it is unknown.
    package static var executable: String {
        String(decoding: ProcessImage.program ?? ProcessImage.arguments.first ?? [], as: UTF8.self)
    }

    /// The arguments of this process as records have them: as far as they may be told, and as far as they fit.
    ///
    /// - Parameter told: Returns what may be told of them, like `Configuration.tellingArguments`.
    /// - Returns: The arguments, the program's name first.
    package static func arguments(telling told: ([[UInt8]]) -> [[UInt8]]) -> [String] {
        ProcessIdentity.withRoom(told(ProcessImage.arguments)).map { String(decoding: $0, as: UTF8.self) }
    }

    /// The control group of this process; "" if it has none or is in a namespace of its own.
    package static var controlGroup: String {
        ControlGroups(ProcessImage.file("/proc/self/cgroup").map { String(decoding: $0, as: UTF8.self) } ?? "").path
    }

    /// Whether a process of this executable with this pid is alive; false for this process itself.
    package static func isAlive(pid: Int) -> Bool {
        guard let pid = CInt(exactly: pid), pid > 0, pid != getpid() else { return false }
        guard let own = ProcessImage.executable(of: "self") else { return kill(pid, 0) == 0 }
        return ProcessImage.executable(of: "\(pid)") == own
    }

    /// Whether this is a set-user-ID or set-group-ID program that a user other than root executed, who then chose its environment.
    package static var actsForAnother: Bool { hf_acts_for_another() }

    /// The path by which the executable's file can be read; nil if there is none.
    ///
    /// If possible it names this file even if another one has taken its place since.
    package static var executableFile: String? { ProcessImage.programFile }
}
