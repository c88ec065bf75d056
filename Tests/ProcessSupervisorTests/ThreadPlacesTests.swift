import TestSupport
import Testing

@testable import ProcessSupervisor

@Suite(.timeLimit(.minutes(2))) struct ThreadPlacesTests {
    @Test func `A thread that waits is told with its state and the name of its system call`() throws {
        let child = try ChildProcess("/bin/sleep", ["1000"])
        let deadline = Deadline()
        var lines: [String] = []
        // Until it has got there. A line is read from several files, so its name may be that from before execve(2).
        repeat {
            lines = ThreadPlaces.lines(ofGroup: child.pid, hasStacks: false)
        } while lines.first.map(isAsleep) != true && !deadline.hasPassed
        #expect(lines.count == 1)
        let line = try #require(lines.first)
        #expect(line.hasPrefix("thread \(child.pid) \"sleep\", S (sleeping), system call clock_nanosleep"))
    }

    private func isAsleep(_ line: String) -> Bool {
        line.contains("\"sleep\", S (sleeping), system call clock_nanosleep")
    }

    @Test func `A process that is gone has no threads`() {
        #expect(ThreadPlaces.lines(ofGroup: .max, hasStacks: true) == [])
    }
}
