import CrashCapture
import FaultInjection
import Foundation
import Glibc
import LinuxSystem
import TestSupport
import Testing

@testable import CrashReports

/// Capture as a whole, each test in a process of its own: handlers are process-wide.
@Suite(.timeLimit(.minutes(10))) struct CaptureTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// What the only spool file in the folder holds.
    private func spool() throws -> SpoolContents {
        let names = try FileManager.default.contentsOfDirectory(atPath: folder.path + "/spool")
        #expect(names.count == 1)
        let name = try #require(names.first { $0.hasSuffix(".spool") })
        let bytes = try Data(contentsOf: URL(fileURLWithPath: "\(folder.path)/spool/\(name)"))
        return try SpoolContents(bytes: Array(bytes))
    }

    @Test func `A verdict that does not come in time is the one for that case`() async throws {
        await #expect(processExitsWith: .signal(SIGILL)) { [path = folder.path as String] in
            let capture = try CaptureChild.install(path, deadline: .seconds(5)) { _ in
                while true { pause() }
            }
            withExtendedLifetime(capture) { Fault.nilUnwrap.commit() }
        }
        let record = try #require(try spool().records.first)
        #expect(record.facts.contains(.deadline))
        #expect(record.verdict == .terminate)
        #expect(record.stage == .captured)
        #expect(record.number == 1)
        #expect(record.frames.isEmpty == false, "the walk came before the verdict that did not")
        #expect(record.crashThread?.state == "S")
        let call = record.crashThread?.systemCall.flatMap { SystemCallNames.name($0) }
        #expect(call == "pause")
    }

    @Test func `A crash thread that is at work when the time has passed gets it once more`() async throws {
        await #expect(processExitsWith: .signal(SIGILL)) { [path = folder.path as String] in
            let deadline = Duration.seconds(4)
            let capture = try CaptureChild.install(path, deadline: deadline) { _ in
                let start = ContinuousClock.now
                while start.duration(to: .now) < deadline * 1.5 {}
                return Decision(.terminate, because: "at last")
            }
            withExtendedLifetime(capture) { Fault.nilUnwrap.commit() }
        }
        let record = try #require(try spool().records.first)
        #expect(!record.facts.contains(.deadline) && record.crashThread == nil)
        #expect(record.verdictReason == "at last")
    }

    @Test func `A crash thread that never gives a verdict is not waited for without end`() async throws {
        await #expect(processExitsWith: .signal(SIGILL)) { [path = folder.path as String] in
            let capture = try CaptureChild.install(path, deadline: .seconds(1)) { _ in
                while true { _ = ContinuousClock.now }
            }
            withExtendedLifetime(capture) { Fault.nilUnwrap.commit() }
        }
        let record = try #require(try spool().records.first)
        #expect(record.facts.contains(.deadline) && record.verdict == .terminate)
        #expect(record.crashThread == FaultRecord.CrashThread(state: "R"))
    }

    @Test func `A process that was stopped while it waited for a verdict still gets that`() async throws {
        await #expect(processExitsWith: .signal(SIGILL)) { [path = folder.path as String] in
            let deadline = Duration.seconds(4)
            let stop = try PassingStop(for: deadline * 1.25)
            let capture = try CaptureChild.install(path, deadline: deadline) { _ in
                stop.begin()
                // Asleep when the parked thread looks, which it does as soon as it goes on.
                usleep(1_000_000)
                return Decision(.terminate, because: "at last")
            }
            withExtendedLifetime(capture) { Fault.nilUnwrap.commit() }
        }
        let record = try #require(try spool().records.first)
        #expect(!record.facts.contains(.deadline))
        #expect(record.verdictReason == "at last")
    }

    @Test func `A verdict to terminate ends the process as the signal says`() async throws {
        await #expect(processExitsWith: .signal(SIGSEGV)) { [path = folder.path as String] in
            let capture = try CaptureChild.install(path, deadline: .seconds(20)) { fault in
                fault.signal == SIGSEGV && fault.address == 0x18
                    ? Decision(.terminate, because: "as told") : Decision(.restart, because: "another fault")
            }
            withExtendedLifetime(capture) { Fault.nullRead.commit() }
        }
        let record = try #require(try spool().records.first)
        #expect(record.stage == .decided)
        #expect(record.verdict == .terminate)
        #expect(record.verdictReason == "as told")
        #expect(!record.facts.contains(.deadline))
        #expect(!record.facts.contains(.recoveryPoint))
        #expect(record.frames.count > 3)
        #expect(record.registers["rip"] == record.frames.first)
    }

    @Test func `A fault of the thread that decides is not waited for`() async throws {
        await #expect(processExitsWith: .signal(SIGILL)) { [path = folder.path as String] in
            let capture = try CaptureChild.install(path, deadline: .seconds(20)) { _ in
                Fault.nilUnwrap.commit()
                return Decision(.resume, because: "never reached")
            }
            withExtendedLifetime(capture) { Fault.nullRead.commit() }
        }
        let records = try spool().records
        #expect(records.count == 2)
        #expect(records.last?.facts.contains(.captureThread) == true)
        #expect(records.last?.verdict == .terminate)
    }

    @Test func `A process has one capture`() async {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let capture = try CaptureChild.install(path) { _ in Decision(.terminate, because: "") }
            let error = #expect(throws: CrashCaptureError.self) {
                try CaptureChild.install(path) { _ in Decision(.terminate, because: "") }
            }
            #expect(error?.code == .alreadyInstalled)
            let names = try FileManager.default.contentsOfDirectory(atPath: path + "/spool")
            #expect(names == [URL(fileURLWithPath: capture.spoolPath).lastPathComponent])
        }
    }

    @Test func `Taken away, it leaves no handler and no file`() async {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let before = CaptureChild.handlers
            let capture = try CaptureChild.install(path) { _ in Decision(.terminate, because: "") }
            #expect(Set(CaptureChild.handlers) != Set(before))
            #expect(Set(CaptureChild.handlers).count == 1, "one handler for all of them")
            capture.uninstall()
            #expect(CaptureChild.handlers == before)
            #expect(try FileManager.default.contentsOfDirectory(atPath: path + "/spool").isEmpty)
        }
    }

    @Test func `The spool is for its owner alone`() async {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            umask(0)
            let capture = try CaptureChild.install(path) { _ in Decision(.terminate, because: "") }
            var status = stat()
            #expect(stat(path + "/spool", &status) == 0 && status.st_mode & 0o777 == 0o700)
            #expect(stat(capture.spoolPath, &status) == 0 && status.st_mode & 0o777 == 0o600)
        }
    }

    @Test func `A spool that cannot be made is an error that names it, and nothing is installed`() async {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let before = CaptureChild.handlers
            let error = #expect(throws: CrashCaptureError.self) {
                try CaptureChild.install(path + "/missing") { _ in Decision(.terminate, because: "") }
            }
            #expect(error?.code == .spool)
            #expect(error?.path == path + "/missing/spool")
            #expect(CaptureChild.handlers == before)
        }
    }
}

/// What the children do.
enum CaptureChild {
    static func install(
        _ folder: String,
        deadline: Duration = .seconds(2),
        decide: @escaping @Sendable (FaultSummary) -> Decision
    ) throws -> CrashCapture {
        let configuration = CrashCapture.Configuration(
            spoolFolder: folder + "/spool",
            deadline: deadline,
            verdictAtDeadline: .terminate,
            version: "test"
        )
        return try CrashCapture(
            configuration,
            inspection: .trustingAll,
            decide: decide,
            decided: { _, _ in },
            recorded: { _ in }
        )
    }

    /// The addresses of the handlers of the fault signals.
    static var handlers: [UInt] {
        [SIGILL, SIGTRAP, SIGABRT, SIGBUS, SIGFPE, SIGSEGV].map { signal in
            var action = sigaction()
            sigaction(signal, nil, &action)
            return unsafeBitCast(action.__sigaction_handler.sa_handler, to: UInt.self)
        }
    }
}
