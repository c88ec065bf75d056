import Glibc

/// The least that a durable file costs: write, fsync, rename, fsync of the folder.
enum DurableWrite {
    /// Writes bytes again and again, and removes them in the end.
    static func measure(_ bytes: [UInt8], in directory: String, count: Int) throws -> Sample {
        let path = directory + "/plain"
        let folder = unsafe open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        defer {
            close(folder)
            unsafe unlink(path)
        }
        var times: [Double] = []
        for _ in 0..<count {
            let begin = now()
            let file = unsafe open(path + ".tmp", O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
            let written = unsafe bytes.withUnsafeBytes { unsafe write(file, $0.baseAddress, $0.count) }
            let isDone = written == bytes.count && fsync(file) == 0
            close(file)
            guard isDone, unsafe rename(path + ".tmp", path) == 0, fsync(folder) == 0 else {
                throw MeasurementError("cannot write \(path)")
            }
            times.append(now() - begin)
        }
        return Sample(times)
    }
}
