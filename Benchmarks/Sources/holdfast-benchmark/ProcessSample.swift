import FoundationEssentials

/// What a process holds, as /proc/PID tells it.
struct ProcessSample {
    /// Open descriptors but for those of `symbolFiles`.
    var descriptors: Int
    /// Files of the program, of its libraries and of their debug information that are open.
    ///
    /// The report writer keeps each open that it has read names from: which depends on where the threads were in faults.
    var symbolFiles: Int
    /// Files that are mapped, the program and its libraries among them.
    var mappedFiles: Int
    var threads: Int
    var mappings: Int
    /// In bytes.
    var residentMemory: Int

    /// Takes the sample; nil if there is no such process.
    init?(pid: Int) {
        let folder = "/proc/\(pid)"
        var fields: [Substring: Int] = [:]
        for line in ProcFile.lines(of: folder + "/status") {
            let words = line.split(whereSeparator: { $0 == ":" || $0 == "\t" || $0 == " " })
            if words.count >= 2, let value = Int(words[1]) { fields[words[0]] = value }
        }
        guard let threads = fields["Threads"], let memory = fields["VmRSS"] else { return nil }
        self.threads = threads
        residentMemory = memory * 1024
        let maps = ProcFile.lines(of: folder + "/maps")
        mappings = maps.count
        // proc_pid_maps(5): the path is what begins with a slash.
        let mapped = Set(maps.compactMap { line in line.firstIndex(of: "/").map { String(line[$0...]) } })
        mappedFiles = mapped.count
        let links = ProcFile.names(in: folder + "/fd").map { ProcFile.target(of: folder + "/fd/" + $0) }
        symbolFiles = links.count { $0.map { mapped.contains($0) || $0.hasPrefix("/usr/lib/debug/") } ?? false }
        descriptors = links.count - symbolFiles
    }
}
