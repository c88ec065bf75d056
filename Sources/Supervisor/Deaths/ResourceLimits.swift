internal import LinuxSystem

/// The limits of a process that can end it: /proc/PID/limits of proc(5).
struct ResourceLimits: Sendable, Equatable {
    /// Seconds of processor time at which it gets SIGXCPU, and SIGKILL; nil for no limit.
    let processorSeconds: UInt64?
    let mostProcessorSeconds: UInt64?
    /// The size of a file in bytes, beyond which it gets SIGXFSZ; nil for no limit.
    let fileSize: UInt64?
    /// How much it may map in bytes; nil for no limit.
    let addressSpace: UInt64?

    /// Reads them; nil if that is not possible.
    init?(pid: CInt, root: String = "") {
        guard let text = SmallFile.text("\(root)/proc/\(pid)/limits") else { return nil }
        self.init(text: text)
    }

    /// Reads the form of /proc/PID/limits.
    init(text: String) {
        func values(_ name: String) -> [UInt64?] {
            let line = text.split(separator: "\n").first { $0.hasPrefix("Max \(name) ") }
            return line?.dropFirst("Max \(name) ".count).split(separator: " ").prefix(2).map { UInt64($0) } ?? []
        }
        let processor = values("cpu time")
        processorSeconds = processor.first ?? nil
        mostProcessorSeconds = processor.count > 1 ? processor[1] : nil
        fileSize = values("file size").first ?? nil
        addressSpace = values("address space").first ?? nil
    }
}
