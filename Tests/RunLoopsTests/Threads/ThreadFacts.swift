import Glibc

/// The folder in `/proc` of the calling thread, as `task` sees it.
func threadFolder() -> String {
    var path = [CChar](repeating: 0, count: 64)
    // "PID/task/TID": proc_thread-self(5).
    let length = readlink("/proc/thread-self", &path, path.count)
    precondition(length > 0, "no /proc for a test")
    return "/proc/" + String(decoding: path[..<length].map { UInt8(bitPattern: $0) }, as: UTF8.self)
}

/// The name of the calling thread.
func threadName() -> String {
    contents(of: threadFolder() + "/comm").split(separator: "\n").joined()
}

/// How often a thread gave the processor away by itself.
func voluntarySwitches(of folder: String) -> Int {
    for line in contents(of: folder + "/status").split(separator: "\n") where line.hasPrefix("voluntary_ctxt") {
        if let count = line.split(separator: "\t").last.flatMap({ Int($0) }) { return count }
    }
    preconditionFailure("no context switches in /proc")
}

/// The names in a folder.
func names(in folder: String) -> [String] {
    guard let stream = opendir(folder) else { preconditionFailure("no folder \(folder)") }
    defer { closedir(stream) }
    var names: [String] = []
    while let entry = readdir(stream) {
        let name = withUnsafePointer(to: &entry.pointee.d_name) {
            $0.withMemoryRebound(to: CChar.self, capacity: 256) { String(cString: $0) }
        }
        if name != "." && name != ".." { names.append(name) }
    }
    return names
}

private func contents(of path: String) -> String {
    guard let file = fopen(path, "r") else { preconditionFailure("no file \(path)") }
    defer { fclose(file) }
    var bytes = [UInt8](repeating: 0, count: 1 << 14)
    let count = fread(&bytes, 1, bytes.count, file)
    return String(decoding: bytes[..<count], as: UTF8.self)
}
