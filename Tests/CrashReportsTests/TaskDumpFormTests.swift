import LinuxSystem
import Testing

@testable import CrashReports

@Suite struct TaskDumpFormTests {
    private static let frame = CrashReport.Frame(
        index: 0,
        address: HexAddress(0x1234),
        kind: .await,
        function: "load(_:)\u{1b}[2J",
        isUserCode: true
    )

    private static func dump(count: Int = 3, oldest: Double = 75, frames: [CrashReport.Frame] = [frame]) -> TaskDump {
        TaskDump(
            pid: 12,
            process: "server",
            time: Timestamp(microsecondsSinceEpoch: 0),
            boundaries: 2,
            tasks: count,
            isPartial: false,
            groups: [
                TaskDump.Group(
                    label: "GET /\u{9b}users",
                    state: "waiting",
                    areChildren: false,
                    haveCallers: true,
                    count: count,
                    oldest: oldest,
                    youngest: 0.25,
                    tasks: [TaskDump.Task(id: 4, priority: 21, isCancelled: false, thread: nil)],
                    frames: frames
                )
            ]
        )
    }

    @Test func `It is the same after JSON`() throws {
        let dump = Self.dump()
        #expect(try TaskDump(json: dump.json()) == dump)
    }

    @Test func `Its text controls no terminal`() {
        let text = Self.dump().lines.joined(separator: "\n")
        #expect(text.unicodeScalars.allSatisfy { $0 == "\n" || !TerminalText.isUnsafe($0) })
        #expect(text.contains("3 tasks waiting, 0.3 s to 1 min 15 s (id 4 and others)"))
        #expect(text.contains("    awaits load(_:)"))
    }

    @Test(arguments: [Double.infinity, -.infinity, .nan, -1, 1e300])
    func `Any number of seconds is a text`(seconds: Double) {
        #expect(Self.dump(oldest: seconds).lines.count == 4)
    }

    @Test func `A group without frames says so`() {
        #expect(Self.dump(frames: []).lines.last == "    where it is could not be told")
    }

    @Test(arguments: ["", "{", "[]", "{}", "null", #"{"version": 1}"#, #"{"version": "x"}"#])
    func `What is no dump is an error`(text: String) {
        #expect(throws: ReportFormatError.self) { try TaskDump(json: Array(text.utf8)) }
    }

    @Test func `One of another version is an error that says so`() throws {
        var dump = Self.dump()
        dump.version = 2
        let json = try dump.json()
        #expect { try TaskDump(json: json) } throws: { "\($0)".contains("version 2") }
    }

    @Test func `The owners of locks are those of the files`() {
        let locks = """
            1: FLOCK  ADVISORY  WRITE 12 fe:00:777 0 EOF
            2: POSIX  ADVISORY  WRITE 13 fe:00:777 0 EOF
            3: FLOCK  ADVISORY  WRITE 14 fe:00:778 0 EOF
            3: -> FLOCK  ADVISORY  WRITE 15 fe:00:777 0 EOF
            4: FLOCK  ADVISORY  WRITE -1 fe:00:777 0 EOF
            5: FLOCK  ADVISORY  WRITE x fe:00:777 0 EOF
            6: FLOCK
            """
        #expect(AskedProcess.locks(on: [777], in: locks).map(\.owner) == [12])
        #expect(AskedProcess.locks(on: [777], in: "").isEmpty)
    }

    @Test func `Who catches the signal is told by the mask`() {
        #expect(ProcessStatus.catches(16, "Name:\tx\nSigCgt:\t0000000000008000\n"))
        #expect(!ProcessStatus.catches(16, "SigIgn:\t0000000000008000\nSigCgt:\t0000000000004000\n"))
        #expect(!ProcessStatus.catches(16, "SigCgt:\tzz\n") && !ProcessStatus.catches(16, ""))
    }
}
