import FoundationEssentials

/// What a process holds, as /proc/PID tells it.
struct ProcessSample {
    var descriptors: Int
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
        descriptors = ProcFile.names(in: folder + "/fd").count
        mappings = ProcFile.lines(of: folder + "/maps").count
    }
}
