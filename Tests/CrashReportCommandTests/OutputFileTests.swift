import Foundation
import Glibc
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// Where output goes when its path is there already, and what is left when it cannot be written.
@Suite(.timeLimit(.minutes(10))) struct OutputFileTests {
    private let folder: TemporaryFolder
    private let store: ReportStore

    init() throws {
        folder = try TemporaryFolder()
        store = ReportStore(path: FilePath(folder.path).appending("store"))
        try store.write(Fixture.report("v1-everything.json"))
        try FileManager.default.createDirectory(atPath: "\(folder.path)/out", withIntermediateDirectories: false)
    }

    /// Runs lines of bash, in a folder for output.
    private func shell(_ script: String) throws -> ProgramRun {
        try ProgramRun.run(
            "/bin/bash",
            ["-c", "cd '\(folder.path)/out' || exit 99\ncrashreport() { \"$0\" \"$@\"; }\n" + script]
                + [try BuiltProduct.path(of: "crashreport")],
            environment: ["HOLDFAST_STORE": store.path.string, "PATH": "/usr/bin:/bin"]
        )
    }

    /// Commands that write one file, whose name is left to be added.
    static let writers = [
        "crashreport export last --format apple --output", "crashreport report --html",
        "crashreport symbolicate last --output",
    ]

    @Test(arguments: writers) func `A FIFO stays one, also behind a symbolic link`(writer: String) throws {
        let result = try shell(
            """
            mkfifo fifo; ln -s fifo link
            cat fifo >copy &
            \(writer) link >/dev/null || exit
            wait
            [ -p fifo ] && [ -L link ] && [ -s copy ] && ls -A
            """
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        #expect(result.output == "copy\nfifo\nlink\n")
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")), arguments: writers)
    func `A device stays one`(writer: String) throws {
        // Behind a link of the test's own: what went wrong would take the device away from everybody.
        let result = try shell(
            "ln -s /dev/full link; \(writer) link; echo $?; [ -L link ] && [ -c /dev/full ] && ls -A"
        )
        #expect(result.output == "74\nlink\n")
        #expect(result.errors.contains("cannot write link: "))
    }

    @Test(arguments: writers) func `What a symbolic link leads to is replaced, with its mode`(writer: String) throws {
        let result = try shell(
            """
            mkdir there; echo old >there/file; chmod 640 there/file; ln -s there/file link
            \(writer) link >/dev/null || exit
            [ -L link ] && ! grep -qx old link && stat -c %a there/file && ls -A . there
            """
        )
        #expect(result.exitCode == 0, "\(result.errors)")
        #expect(result.output == "640\n.:\nlink\nthere\n\nthere:\nfile\n")
    }

    @Test func `A symbolic link to nothing yet makes a file for its owner where it leads`() throws {
        let result = try shell(
            "mkdir there; ln -s there link; ln -s link/file new; \(Self.writers[1]) new; [ -L new ] && stat -c %a there/file"
        )
        #expect(result.output == "600\n", "\(result.errors)")
    }

    @Test(arguments: writers) func `What cannot be written as a whole leaves what was there`(writer: String) throws {
        let result = try shell(
            """
            echo old >file
            ( ulimit -f 1; \(writer) file >/dev/null; echo $? )
            ( ulimit -f 1; \(writer) new >/dev/null; echo $? )
            cat file; ls -A
            """
        )
        #expect(result.output == "74\n74\nold\nfile\n", "\(result.errors)")
        #expect(result.errors.contains("cannot write file: "))
    }

    @Test func `A link in a folder is replaced, and not followed`() throws {
        let id = try #require(try store.summaries().summaries.first).id
        let result = try shell(
            """
            echo old >file; chmod 666 file; ln -s ../file folder-link; mkdir folder; ln -s ../file folder/\(id).crash
            crashreport export last --format apple --output folder/ || exit
            cat file; [ -L folder/\(id).crash ] || stat -c %a folder/*
            """
        )
        #expect(result.output == "old\n600\n", "\(result.errors)")
    }

    /// The record of a death whose report cannot be written.
    @Test func `A store with no report but some that cannot be written is not empty`() throws {
        let record = #"""
            {"version":1,"name":"web","arguments":["web"],"executable":"/usr/bin/web","pid":7,"supervisor":1,
            "began":1795243000000000000,"ended":1795243001000000000,"restarts":2,"status":3,"cause":"exit","confidence":"certain",
            "sentence":"It ended itself with status 3.","next":[],"evidence":[],"userSeconds":0.5,"systemSeconds":0.25,
            "peakBytes":4096,"wasReady":true,"action":"It starts again at once.","holdfast":"0.1.0",
            "host":{"name":"h","kernel":"6","os":"Debian","architecture":"x86_64","processors":2}}
            """#
        for path in [store.path, store.spoolPath, store.reportsPath] {
            _ = mkdir(path.string, 0o700)
        }
        for report in try store.summaries().summaries { try FileManager.default.removeItem(atPath: report.path) }
        try Data(record.utf8).write(to: URL(fileURLWithPath: store.spoolPath.appending("7-1.death").string))
        let result = try shell("( ulimit -f 0; crashreport list; echo $? ) 2>&1 | cat; crashreport list | wc -l")
        #expect(result.output.contains("/7-1.death: ") && result.output.hasSuffix("\n73\n2\n"), "\(result.output)")
        #expect(!result.output.contains("no crash reports"))
    }

    @Test func `An open descriptor is written on from where it is`() throws {
        let result = try shell(
            """
            { echo before; crashreport export last --format apple --output /dev/fd/3; echo after; } >file 3>&1
            head -n 1 file; tail -n 1 file; grep -c Binary file
            """
        )
        #expect(result.output == "before\nafter\n1\n", "\(result.errors)")
    }

    @Test func `Who reads only the start is no failure`() throws {
        var report = try Fixture.report("v1-everything.json")
        report.fault?.message = String(repeating: "more than a pipe holds ", count: 10000)
        try store.write(report)
        let result = try shell(
            "crashreport export last --format json-lines --output /dev/stdout | head -c 1; echo ${PIPESTATUS[0]}"
        )
        #expect(result.output == "{0\n", "\(result.errors)")
        #expect(result.errors == "")
    }

    @Test(.enabled(if: geteuid() != 0, "root may make files anywhere"))
    func `A file in a folder that takes no other is written in place`() throws {
        let result = try shell(
            "echo old >file; chmod 500 .; \(Self.writers[1]) file; echo $?; chmod 700 .; grep -c old file; ls -A"
        )
        #expect(result.output == "0\n0\nfile\n", "\(result.errors)")
    }
}
