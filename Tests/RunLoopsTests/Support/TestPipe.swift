import Glibc
import RunLoops
import SystemPackage

/// A pipe whose ends are closed when it goes.
final class TestPipe: Sendable {
    let readEnd: CInt
    let writeEnd: CInt

    init() {
        var ends: [CInt] = [-1, -1]
        precondition(pipe(&ends) == 0, "no pipe for a test")
        (readEnd, writeEnd) = (ends[0], ends[1])
    }

    deinit {
        close(readEnd)
        close(writeEnd)
    }

    /// Puts some bytes into the pipe.
    func fill(_ count: Int = 1) {
        let bytes = [UInt8](repeating: 7, count: count)
        precondition(write(writeEnd, bytes, count) == count)
    }

    /// Takes one byte out of the pipe.
    func takeByte() {
        var byte: UInt8 = 0
        precondition(read(readEnd, &byte, 1) == 1)
    }

    /// Makes a port source for the read end, which keeps the pipe open.
    func portSource(
        _ label: String,
        perform: @escaping @Sendable (HostRunLoop.PortSource.Readiness) -> Void
    ) -> HostRunLoop.PortSource {
        HostRunLoop.PortSource(label: label, descriptor: FileDescriptor(rawValue: readEnd)) { _, readiness in
            withExtendedLifetime(self) { perform(readiness) }
        }
    }
}
