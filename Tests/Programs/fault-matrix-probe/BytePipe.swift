import Glibc

/// A pipe for single bytes, whose reading end a port can watch.
struct BytePipe: Sendable {
    struct Failure: Error {
        let code: CInt
    }

    let reader: CInt
    private let writer: CInt

    init() throws {
        var ends: [CInt] = [-1, -1]
        guard pipe(&ends) == 0 else { throw Failure(code: errno) }
        (reader, writer) = (ends[0], ends[1])
        for end in ends { _ = fcntl(end, F_SETFD, FD_CLOEXEC) }
    }

    /// Makes the reading end readable.
    func put() {
        var byte: UInt8 = 1
        _ = write(writer, &byte, 1)
    }

    /// Takes one byte.
    func take() {
        var byte: UInt8 = 0
        _ = read(reader, &byte, 1)
    }
}
