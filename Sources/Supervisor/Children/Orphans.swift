internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// The children of this process, whoever has started them.
enum Orphans {
    /// All that live, or have ended and were not taken yet.
    static func all() -> [CInt] {
        // Where the kernel has it (CONFIG_PROC_CHILDREN) it is one file; children are those of threads, and we start them on one.
        let own = "/proc/self/task/\(getpid())/children"
        if let text = SmallFile.text(own) { return text.split(separator: " ").compactMap { CInt($0) } }
        guard let folder = try? FileDirectory(at: "/proc"), let names = try? folder.names() else { return [] }
        return names.compactMap { CInt($0) }.filter { ProcessFields.parent(of: $0) == getpid() }
    }
}
