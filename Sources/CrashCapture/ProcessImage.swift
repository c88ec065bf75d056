internal import Glibc

/// What this process was started as, byte for byte.
enum ProcessImage {
    /// The path of the executable; nil where proc(5) is not mounted.
    ///
    /// A restart runs what lies there then: a new version, if it was replaced. When nothing that can be executed lies there,
    /// it runs the image of this process again (`/proc/self/exe`), which a deleted file still has.
    static var executable: [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let count = unsafe buffer.withUnsafeMutableBytes { bytes in
            unsafe bytes.baseAddress.map { unsafe readlink("/proc/self/exe", $0, bytes.count) } ?? -1
        }
        guard count > 0 else { return nil }
        let path = Array(buffer.prefix(count))
        // What the kernel says of a file that is gone (proc(5)): its place may be taken again by the time of a restart.
        let mark = Array(" (deleted)".utf8)
        guard path.count > mark.count, path.suffix(mark.count) == mark[...], !exists(path) else { return path }
        return path.dropLast(mark.count)
    }

    /// The arguments, the program's name first.
    ///
    /// As the kernel has them. The standard library repairs what is not UTF-8.
    static var arguments: [[UInt8]] {
        if let bytes = file("/proc/self/cmdline"), bytes.last == 0 {
            return bytes.dropLast().split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
        }
        return CommandLine.arguments.map { Array($0.utf8) }
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
        let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var bytes: [UInt8] = []
        var piece = [UInt8](repeating: 0, count: 65536)
        while true {
            let count = unsafe piece.withUnsafeMutableBytes { unsafe read(descriptor, $0.baseAddress, $0.count) }
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { return count == 0 ? bytes : nil }
            bytes += piece[..<count]
        }
    }
}
