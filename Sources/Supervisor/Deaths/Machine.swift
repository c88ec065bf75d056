internal import Glibc
internal import LinuxSystem

/// The machine that a death was on, as reports have it.
struct Machine: Sendable {
    let name: String
    let kernel: String
    let architecture: String
    /// The distribution and its version: PRETTY_NAME of os-release(5).
    let os: String
    let processors: Int

    /// This machine.
    init() {
        var system = utsname()
        _ = unsafe uname(&system)
        name = Self.text(&system.nodename)
        kernel = Self.text(&system.release)
        architecture = Self.text(&system.machine)
        let release = SmallFile.text("/etc/os-release") ?? SmallFile.text("/usr/lib/os-release") ?? ""
        let line = release.split(separator: "\n").first { $0.hasPrefix("PRETTY_NAME=") }
        os = line.map { $0.dropFirst("PRETTY_NAME=".count).filter { $0 != "\"" } } ?? "Linux"
        processors = max(1, sysconf(CInt(_SC_NPROCESSORS_ONLN)))
    }

    private static func text<Tuple>(_ field: inout Tuple) -> String {
        unsafe withUnsafeBytes(of: &field) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
