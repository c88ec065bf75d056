internal import CCrashCapture
internal import Glibc

/// What a record says of its process, gathered while the process is well.
struct ProcessIdentity {
    var pid: Int32 = getpid()
    var parentPid: Int32 = getppid()
    var startUnixNanoseconds: Int64
    var startMonotonicNanoseconds: Int64
    /// In the form of execve(2): bytes, which need not be UTF-8.
    var executable: [UInt8]
    /// The program's own file.
    ///
    /// `executable` may be the loader that was told to run it.
    var program: [UInt8]
    var arguments: [[UInt8]]
    /// The arguments, as far as they may be told.
    var toldArguments: [[UInt8]]
    var restarts: Int
    var holdfastVersion: String

    /// Gathers it for the running process.
    ///
    /// - Parameters:
    ///   - restarts: How often it was restarted in place.
    ///   - holdfastVersion: Holdfast's version.
    ///   - elapsed: How long ago it began to start.
    ///   - told: Returns what may be told of its arguments.
    init(
        restarts: Int,
        holdfastVersion: String,
        elapsed: Duration = .zero,
        telling told: ([[UInt8]]) -> [[UInt8]] = { $0 }
    ) {
        self.restarts = restarts
        self.holdfastVersion = holdfastVersion
        startUnixNanoseconds = Self.nanoseconds(CLOCK_REALTIME) - Int64(elapsed / .nanoseconds(1))
        startMonotonicNanoseconds = Self.nanoseconds(CLOCK_MONOTONIC) - Int64(elapsed / .nanoseconds(1))
        arguments = ProcessImage.arguments
        toldArguments = told(arguments)
        executable = ProcessImage.executable ?? arguments.first ?? []
        program = ProcessImage.program ?? executable
    }

    /// Writes the header of a fresh spool file, the magic last.
    func write(to header: UnsafeMutablePointer<HFSpoolHeader>) {
        unsafe header.pointee.version = HF_SPOOL_VERSION
        unsafe header.pointee.header_size = UInt32(MemoryLayout<HFSpoolHeader>.size)
        unsafe header.pointee.image_size = UInt32(MemoryLayout<HFImage>.size)
        unsafe header.pointee.image_capacity = UInt32(SpoolFile.imageCapacity)
        unsafe header.pointee.slot_size = UInt32(MemoryLayout<HFRecord>.size)
        unsafe header.pointee.slot_count = UInt32(SpoolFile.slotCount)
        unsafe header.pointee.pid = pid
        unsafe header.pointee.parent_pid = parentPid
        unsafe header.pointee.restarts = UInt32(clamping: restarts)
        unsafe header.pointee.start_unix_nanoseconds = startUnixNanoseconds
        unsafe header.pointee.start_monotonic_nanoseconds = startMonotonicNanoseconds
        unsafe header.pointee.processors = UInt32(clamping: sysconf(CInt(_SC_NPROCESSORS_ONLN)))
        let path = String(decoding: program, as: UTF8.self)
        unsafe Self.copy(path.split(separator: "/").last.map(String.init) ?? path, to: &header.pointee.name)
        unsafe Self.copy(path, to: &header.pointee.executable)
        var system = utsname()
        if unsafe uname(&system) == 0 {
            unsafe Self.copy(Self.text(&system.nodename), to: &header.pointee.host)
            unsafe Self.copy(Self.text(&system.release), to: &header.pointee.kernel)
            unsafe Self.copy(Self.text(&system.machine), to: &header.pointee.architecture)
        }
        unsafe Self.copy(Self.operatingSystem(), to: &header.pointee.operating_system)
        unsafe Self.copy(Self.libcVersion(), to: &header.pointee.libc)
        unsafe Self.copy(Self.swiftVersion, to: &header.pointee.swift)
        unsafe Self.copy(holdfastVersion, to: &header.pointee.holdfast)
        unsafe writeArguments(to: header)
        unsafe Self.copy("HFSPOOL", to: &header.pointee.magic)
    }

    private func writeArguments(to header: UnsafeMutablePointer<HFSpoolHeader>) {
        let bytes: [UInt8] = Self.withRoom(toldArguments).reduce(into: []) { $0 += $1 + [0] }
        unsafe header.pointee.argument_count = UInt32(clamping: arguments.count)
        unsafe header.pointee.arguments_length = UInt32(clamping: bytes.count)
        unsafe hf_spool_arguments(header).copyMemory(from: bytes, byteCount: bytes.count)
    }

    /// As many arguments as a header has room for, each with its NUL.
    static func withRoom(_ arguments: [[UInt8]]) -> ArraySlice<[UInt8]> {
        var size = 0
        let tooLong = arguments.firstIndex { argument in
            size += argument.count + 1
            return size > Int(HF_ARGUMENTS_SIZE)
        }
        return arguments[..<(tooLong ?? arguments.endIndex)]
    }

    private static func nanoseconds(_ clock: clockid_t) -> Int64 {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return Int64(time.tv_sec) * 1_000_000_000 + Int64(time.tv_nsec)
    }

    /// Copies a text into a C array and ends it with a NUL, cut where the array ends.
    private static func copy<T>(_ text: String, to array: inout T) {
        unsafe withUnsafeMutableBytes(of: &array) { bytes in
            unsafe bytes.initializeMemory(as: UInt8.self, repeating: 0)
            unsafe bytes.copyBytes(from: text.utf8.prefix(bytes.count - 1))
        }
    }

    private static func text<T>(_ array: inout T) -> String {
        unsafe withUnsafeBytes(of: &array) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    /// "glibc 2.36": confstr(3).
    private static func libcVersion() -> String {
        var buffer = [CChar](repeating: 0, count: 64)
        guard unsafe confstr(CInt(_CS_GNU_LIBC_VERSION), &buffer, buffer.count) > 0 else { return "" }
        return String(decoding: buffer.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }

    /// PRETTY_NAME of os-release(5).
    private static func operatingSystem() -> String {
        guard let file = unsafe fopen("/etc/os-release", "re") else { return "Linux" }
        defer { unsafe fclose(file) }
        var line = [CChar](repeating: 0, count: 512)
        while unsafe fgets(&line, CInt(line.count), file) != nil {
            let text = String(decoding: line.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            guard text.hasPrefix("PRETTY_NAME=") else { continue }
            return text.dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" && $0 != "\n" }
        }
        return "Linux"
    }

    /// The language version that this module was compiled for: the runtime does not tell its own.
    private static var swiftVersion: String {
        #if compiler(>=6.4)
        "6.4 or later"
        #elseif compiler(>=6.3)
        "6.3"
        #else
        "6.2"
        #endif
    }
}
