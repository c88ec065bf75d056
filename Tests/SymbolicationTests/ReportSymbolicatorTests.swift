import Foundation
import Symbolication
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// A report of a fault in a stripped program, and the same of the program as it was built.
@Suite(.timeLimit(.minutes(10))) struct ReportSymbolicatorTests {
    private let program: StrippedProgram

    init() throws {
        program = try StrippedProgram()
    }

    /// A report with some of the program's addresses on its stacks, and nothing known of them.
    private func bareReport(buildID: String? = nil) -> CrashReport {
        let image = CrashReport.Image(
            name: "program",
            path: "/on/another/machine/program",
            base: HexAddress(StrippedProgram.base),
            end: HexAddress(StrippedProgram.base + 64 << 20),
            buildID: buildID ?? program.buildID
        )
        func frame(_ index: Int, _ address: UInt64, isFirst: Bool) -> CrashReport.Frame {
            CrashReport.Frame(
                index: index,
                address: HexAddress(address),
                kind: isFirst ? .programCounter : .returnAddress,
                image: 0,
                imageName: "program",
                imageOffset: HexAddress(address - StrippedProgram.base),
                isUserCode: true
            )
        }
        let addresses = program.addresses.prefix(6)
        var frames = addresses.enumerated().map { frame($0.offset, $0.element, isFirst: $0.offset == 0) }
        // A hundred frames were left out before the last two.
        for index in 4..<6 { frames[index].index += 100 }
        return CrashReport.symbolicationSample(
            images: [image],
            thread: CrashReport.Thread(id: 1, isMain: true, frames: frames, framesOmitted: 100),
            otherThreads: [CrashReport.Thread(id: 2, isMain: false, frames: [frame(0, addresses[1], isFirst: true)])]
        )
    }

    private var symbols: DebugFileSearch { DebugFileSearch(files: [program.debugFile]) }

    @Test func `Names, lines and inlined calls are filled in on all threads, and the frames numbered anew`() throws {
        let bare = bareReport()
        let result = ReportSymbolicator(search: symbols).symbolicate(bare)
        let report = result.report
        #expect(result.framesChanged == 7)
        #expect(result.images.map(\.source) == [.found(.debugInformation, files: [program.debugFile])])

        let first = program.frames[0]
        #expect(report.thread.frames.prefix(first.count).map(\.rawName) == first.map(\.rawName))
        #expect(report.thread.frames.prefix(first.count).map(\.line) == first.map(\.line))
        #expect(report.thread.frames.prefix(first.count).map(\.inlined) == first.map(\.inlined))
        #expect(report.otherThreads[0].frames.map(\.rawName) == program.frames[1].map(\.rawName))
        #expect(report.thread.frames.allSatisfy { $0.image == 0 && $0.imageOffset != nil && $0.function != nil })

        let numbers = report.thread.frames.map(\.index)
        let head = numbers.prefix { $0 < 100 }
        #expect(Array(head) == Array(0..<head.count))
        #expect(Array(numbers[head.count...]) == (head.count..<numbers.count).map { $0 + 100 })

        // What follows from names.
        #expect(report.fingerprint != bare.fingerprint)
        var again = report
        again.explain()
        #expect(again == report)
        // Everything else is as it was.
        #expect(report.id == bare.id && report.images == bare.images && report.notes == bare.notes)
    }

    @Test func `Where libdw cannot be loaded, functions are named by symbols, and it is said why there are no lines`()
        throws
    {
        let crashreport = try BuiltProduct.path(of: "crashreport")
        let needed = try ProgramRun.run("/usr/bin/env", ["readelf", "-d", crashreport]).output
        #expect(needed.contains("libswiftCore.so"))
        #expect(!needed.contains("libdw.so") && !needed.contains("libelf.so"))

        let folder = try TemporaryFolder()
        // What is no library in the place of one: the dynamic linker looks no further.
        _ = try folder.write("no library", to: "libdw.so.1")
        let path = folder.path + "/report.json"
        try Data(try bareReport().json()).write(to: URL(fileURLWithPath: path))
        func named(_ environment: [String: String]) throws -> (report: CrashReport, output: String, errors: String) {
            let arguments = ["symbolicate", path, "--binary", program.built, "--output", path + ".named"]
            let run = try ProgramRun.run(crashreport, arguments, environment: environment)
            #expect(run.end == .exited(0), "\(run.errors)")
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path + ".named"))
            return (try CrashReport(json: Array(bytes)), run.output, run.errors)
        }
        let whole = try named([:])
        #expect(whole.report.thread.frames.contains { $0.line != nil })
        #expect(whole.output.contains("functions and lines, from"))
        #expect(whole.errors == "")

        let bare = try named(["LD_LIBRARY_PATH": folder.path])
        #expect(bare.report.thread.frames.allSatisfy { $0.function != nil && $0.line == nil })
        let physical = whole.report.thread.frames.filter { !$0.inlined }
        #expect(bare.report.thread.frames.map(\.rawName) == physical.map(\.rawName))
        #expect(bare.output.contains("functions, from"))
        #expect(bare.errors.contains("no lines: libdw cannot be loaded"))
        #expect(bare.errors.contains("libdw.so.1"))
    }

    @Test func `A report that has its names stays as it is`() {
        let symbolicator = ReportSymbolicator(search: symbols)
        let named = symbolicator.symbolicate(bareReport()).report
        let again = symbolicator.symbolicate(named)
        #expect(again.report == named)
        #expect(again.framesChanged == 0)
        // Also when there is nothing to name them by any more.
        let blind = ReportSymbolicator(search: DebugFileSearch()).symbolicate(named)
        #expect(blind.report == named)
        #expect(blind.images.map(\.source) == [.missing])
    }

    @Test func `The check that failed becomes the reason`() throws {
        var bare = bareReport()
        let failedCheck = try #require(program.failedCheck, "the program has no check")
        bare.thread.frames[0].address = HexAddress(failedCheck)
        let report = ReportSymbolicator(search: symbols).symbolicate(bare).report
        let check = try #require(report.runtimeFailure)
        #expect(report.reason == check)
        // A reason of another rule stays.
        bare.reason = "something else"
        #expect(ReportSymbolicator(search: symbols).symbolicate(bare).report.reason == "something else")
    }

    @Test func `Files of another build, missing files, and images without a build id are told of and name nothing`() {
        let bare = bareReport(buildID: "00112233445566778899aabbccddeeff00112233")
        let folder = URL(fileURLWithPath: program.path).deletingLastPathComponent().path
        let mismatched = ReportSymbolicator(search: DebugFileSearch(directories: [folder])).symbolicate(bare)
        #expect(mismatched.report == bare)
        #expect(mismatched.images.map(\.source) == [.mismatched(path: program.path)])

        let missing = ReportSymbolicator(search: symbols).symbolicate(bare)
        #expect(missing.report == bare)
        #expect(missing.images.map(\.source) == [.missing])

        var unverifiable = bare
        // This very machine has a file at the path, and nobody knows whether it is the one.
        unverifiable.images[0].buildID = nil
        unverifiable.images[0].path = program.built
        let result = ReportSymbolicator(search: symbols).symbolicate(unverifiable)
        #expect(result.report == unverifiable)
        #expect(result.images.map(\.source) == [.unverifiable])
    }

    @Test func `Hostile frames and images do no harm`() {
        var hostile = bareReport()
        hostile.images.append(
            CrashReport.Image(name: "all", path: "/", base: HexAddress(0), end: HexAddress(.max), buildID: "../..")
        )
        hostile.images.append(
            CrashReport.Image(
                name: "turned",
                path: "/dev/zero",
                base: HexAddress(.max),
                end: HexAddress(0),
                buildID: "00"
            )
        )
        for (index, frame) in hostile.thread.frames.enumerated() {
            var frame = frame
            frame.index = index.isMultiple(of: 2) ? .max : .min
            frame.image = index.isMultiple(of: 3) ? .max : -1
            frame.inlined = true
            frame.kind = CrashReport.Frame.Kind(rawValue: "unheard of")
            hostile.thread.frames.append(frame)
        }
        for address in [0, 1, UInt64.max] {
            hostile.thread.frames.append(
                CrashReport.Frame(index: 0, address: HexAddress(address), kind: .returnAddress, isUserCode: false)
            )
        }
        hostile.otherThreads.append(CrashReport.Thread(id: 3, isMain: false, frames: []))
        let result = ReportSymbolicator(search: symbols).symbolicate(hostile)
        #expect(result.report.thread.frames.count >= hostile.thread.frames.count)
        let again = ReportSymbolicator(search: symbols).symbolicate(result.report)
        #expect(again.report.thread.frames.map(\.rawName) == result.report.thread.frames.map(\.rawName))
    }

    @Test func `The command names what a store has, and says what it found`() throws {
        let reader = try StoreReader()
        let store = ReportStore(path: FilePath(reader.path))
        let bare = bareReport()
        try store.write(bare)
        let nothing = try reader.crashreport(["symbolicate", "last"])
        #expect(nothing.end == .exited(0))
        #expect(nothing.output.contains("no file with build id \(program.buildID) was found"))
        #expect(try store.load(prefix: bare.id.rawValue) == bare)

        let run = try reader.crashreport(["symbolicate", "last", "--binary", program.debugFile])
        #expect(run.end == .exited(0), "\(run.errors)")
        #expect(run.output.contains("7 addresses named anew"))
        #expect(run.output.contains("program: functions and lines, from \(program.debugFile)"))
        let named = try store.load(prefix: bare.id.rawValue)
        #expect(named == ReportSymbolicator(search: symbols).symbolicate(bare).report)
        #expect(try reader.list().map(\.fingerprint) == [named.fingerprint])

        let all = try reader.crashreport(["symbolicate", "--all", "--binary", program.debugFile])
        #expect(all.end == .exited(0))
        #expect(all.output.contains("nothing more is known than before"))
    }

    @Test func `The command names a file that came by mail`() throws {
        let bare = bareReport()
        let mailed = program.folder.path + "/mailed.json"
        try Data(bare.json()).write(to: URL(fileURLWithPath: mailed))
        let reader = try StoreReader()
        let named = ReportSymbolicator(search: symbols).symbolicate(bare).report
        let arguments = ["symbolicate", mailed, "--binary", program.debugFile]

        let printed = try reader.crashreport(arguments + ["--output", "-"])
        #expect(try CrashReport(json: Array(printed.output.utf8)) == named)
        #expect(try CrashReport(json: Array(Data(contentsOf: URL(fileURLWithPath: mailed)))) == bare)

        let other = program.folder.path + "/named.json"
        #expect(try reader.crashreport(arguments + ["--output", other]).end == .exited(0))
        #expect(try CrashReport(json: Array(Data(contentsOf: URL(fileURLWithPath: other)))) == named)

        #expect(try reader.crashreport(arguments).end == .exited(0))
        #expect(try CrashReport(json: Array(Data(contentsOf: URL(fileURLWithPath: mailed)))) == named)
    }

    @Test(
        arguments: [
            ([], 64), (["last", "--all"], 64), (["last", "--binary", "/nonexistent"], 66),
            (["last", "--debug-dir", "/nonexistent"], 66), (["a", "b", "--output", "-"], 64), (["--all"], 1),
            (["last"], 1), (["abcdef"], 66),
        ] as [([String], CInt)]
    )
    func `The command refuses what it cannot do`(arguments: [String], status: CInt) throws {
        let run = try StoreReader().crashreport(["symbolicate"] + arguments)
        #expect(run.end == .exited(status))
        #expect(!run.errors.isEmpty)
    }
}
