import CrashReports
import Foundation
import TestSupport
import Testing

@testable import Symbolication

/// A program with the standard library in it, as `swift build --static-swift-stdlib` makes it.
@Suite(.timeLimit(.minutes(10))) struct StaticStandardLibraryTests {
    /// What SwiftPM would ask for besides: modules that only modules of the standard library import.
    private static let libraries = [
        "_FoundationCollections", "_FoundationCShims", "FoundationEssentials", "swiftSynchronization", "swiftDispatch",
        "dispatch", "BlocksRuntime", "stdc++",
    ]

    /// Links the object files of a program anew.
    private static func link(
        _ name: String,
        reversed: Bool = false,
        isAtFixedAddress: Bool = false,
        in folder: TemporaryFolder
    ) throws -> String {
        let path = folder.path + "/" + name
        var list = "\(try BuiltProduct.path(of: name)).product/Objects.LinkFileList"
        if reversed {
            let objects = try String(contentsOfFile: list, encoding: .utf8).split(separator: "\n").reversed()
            list = try folder.write(objects.joined(separator: "\n") + "\n", to: "objects")
        }
        let entry = name.replacing("-", with: "_") + "_main"
        let run = try ProgramRun.run(
            "/usr/bin/env",
            ["swiftc", "-static-stdlib", "-emit-executable", "-o", path, "@\(list)"]
                + ["-Xlinker", "--defsym", "-Xlinker", "main=\(entry)"]
                + libraries.map { "-l\($0)" } + (isAtFixedAddress ? ["-Xlinker", "-no-pie"] : []),
            within: .seconds(300)
        )
        guard run.end == .exited(0) else { throw HarnessError("swiftc: \(run.end) \(run.output) \(run.errors)") }
        return path
    }

    @Test func `A fault in a boundary costs the boundary, and one with a lock held the process`() throws {
        let folder = try TemporaryFolder()
        let probe = try Self.link("boundary-probe", in: folder)
        for scenario in ["plain", "suspended", "child"] {
            let store = try StoreReader()
            let run = try ProgramRun.run(probe, [scenario, store.path])
            #expect(run.end == .exited(0), "\(run.errors.suffix(2000))")
            #expect(run.output == "\(scenario) faulted: a fault on purpose, fault 1, boundary \(scenario)\nend\n")
        }
        for (scenario, reason) in [("mutex", "inside a function that holds a lock"), ("actor", "isolated to an actor")]
        {
            let store = try StoreReader()
            let run = try ProgramRun.run(probe, [scenario, store.path])
            #expect(run.end == .exited(77), "\(run.errors.suffix(2000))")
            let report = try #require(try store.reportsOfFaults().first)
            #expect(report.verdict.decision == .restart && report.verdict.reason.contains(reason))
        }
    }

    @Test func `Reports know the runtime's functions from the program's, and who awaits`() throws {
        let folder = try TemporaryFolder()
        let store = try StoreReader()
        _ = try ProgramRun.run(Self.link("boundary-probe", in: folder), ["chain", store.path])
        let frames = try #require(try store.reportsOfFaults().first).thread.frames
        #expect(frames.contains { $0.asyncRole != nil && $0.isApplicationCode })
        let runtime = frames.filter {
            $0.rawName?.hasPrefix("_ZN5swift") == true || $0.rawName?.hasPrefix("swift_") == true
        }
        #expect(!runtime.isEmpty && runtime.allSatisfy { !$0.isUserCode })
    }

    @Test(arguments: [false, true]) func `A callout is resumed, too`(isAtFixedAddress: Bool) throws {
        let folder = try TemporaryFolder()
        let dynamic = try StoreReader()
        let expected = try ProgramRun.run(BuiltProduct.path(of: "recovery-probe"), ["own-code", dynamic.path])
        let store = try StoreReader()
        let probe = try Self.link("recovery-probe", isAtFixedAddress: isAtFixedAddress, in: folder)
        let run = try ProgramRun.run(probe, ["own-code", store.path])
        #expect(run.end == expected.end && run.output == expected.output, "\(run.errors)")
        let (report, other) = (try store.onlyReport(), try dynamic.onlyReport())
        #expect(report.verdict.decision == other.verdict.decision)
        #expect(report.location == other.location)
        // Where the kernel and the dynamic linker put it, or where the linker has.
        let base = report.images.first { $0.path == probe }?.base.rawValue
        #expect(base.map { $0 < 1 << 32 } == isAtFixedAddress)
    }

    /// The next process takes over what the first one has read: so it believes what we change in it.
    @Test func `Which functions of the library use locks is read once`() throws {
        let folder = try TemporaryFolder()
        let probe = try Self.link("boundary-probe", in: folder)
        let store = try StoreReader()
        let code = store.path + "/code"
        let owned: [FileAttributeKey: Any] = [.posixPermissions: 0o700]
        try FileManager.default.createDirectory(atPath: code, withIntermediateDirectories: true, attributes: owned)
        let first = try ChildProcess(probe, ["tasks-unseen", store.path])
        let name = try FolderWatch.wait(at: code, for: "what was read of the program") {
            try FileManager.default.contentsOfDirectory(atPath: code).first { $0.hasSuffix(".code") }
        }
        first.kill(SIGKILL)
        _ = try first.wait()
        let file = Array(try #require(FileManager.default.contents(atPath: code + "/" + name)))
        let parts = try #require(KeptCode.parts(of: file))
        let locks = Array(parts.locks)
        #expect(locks.count > 9 && locks.count % 9 == 8)
        // Whole; no function; one that does something unknown; cut: the last two are read again.
        for (kept, isResumed) in [
            (locks, false), (Array(repeating: 0, count: 8), true), (locks.dropLast() + [200], false),
            (locks.dropLast(), false),
        ] as [([UInt8], Bool)] {
            let path = code + "/" + name
            let changed = KeptCode.file(key: Array(parts.key), read: Array(parts.read), locks: kept)
            #expect(FileManager.default.createFile(atPath: path, contents: Data(changed)))
            #expect(chmod(path, 0o600) == 0)
            let run = try ProgramRun.run(probe, ["mutex", store.path])
            #expect(run.end == .exited(77))
            // If it is, the next call finds the lock held.
            #expect(
                run.output.hasPrefix("mutex faulted") == isResumed,
                "\(kept.count) bytes: \(run.errors.suffix(2000))"
            )
        }
    }

    @Test func `Without symbols, the debug file tells which functions use locks`() throws {
        let folder = try TemporaryFolder()
        let probe = try Self.link("boundary-probe", in: folder)
        for (tool, arguments) in [
            ("objcopy", ["--only-keep-debug", probe, probe + ".debug"]), ("strip", [probe]),
            ("objcopy", ["--add-gnu-debuglink=\(probe).debug", probe]),
        ] {
            #expect(try ProgramRun.run("/usr/bin/\(tool)", arguments).end == .exited(0))
        }
        let store = try StoreReader()
        #expect(try ProgramRun.run(probe, ["plain", store.path]).end == .exited(0))
        let run = try ProgramRun.run(probe, ["mutex", store.path])
        #expect(run.end == .exited(77) && run.output.isEmpty, "\(run.output) \(run.errors.suffix(2000))")
        // Nobody knows then.
        try FileManager.default.removeItem(atPath: probe + ".debug")
        #expect(try ProgramRun.run(probe, ["plain", StoreReader().path]).end == .exited(77))
    }

    @Test func `Objects in another order are noticed: nothing is resumed, and the log says so`() throws {
        let folder = try TemporaryFolder()
        let probe = try Self.link("boundary-probe", reversed: true, in: folder)
        // Its symbols are read in the background.
        let waiting = try ChildProcess(probe, ["tasks-unseen", StoreReader().path])
        try FolderWatch.wait(at: waiting.errorPath, for: "the line in the log") {
            waiting.errors.contains("its code cannot be told from the program's") ? () : nil
        }
        let store = try StoreReader()
        #expect(try ProgramRun.run(probe, ["plain", store.path]).end == .exited(77))
        let report = try #require(try store.reportsOfFaults().first)
        #expect(report.verdict.decision == .restart)
    }
}

extension StoreReader {
    /// The reports of faults, also of what a process had no time for.
    fileprivate func reportsOfFaults() throws -> [CrashReport] {
        _ = try list()
        return try reports().filter { $0.fault != nil }
    }
}
