import Foundation
import Glibc
import ReportTestSupport
import SystemPackage
import Testing

@testable import CrashReports
@testable import ReportText

@Suite struct SourceExcerptTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
    }

    private func path(_ name: String) -> String {
        temporary.directory.appending(name).string
    }

    private func write(_ text: String, _ name: String) throws -> String {
        try Data(text.utf8).write(to: URL(fileURLWithPath: path(name)))
        return path(name)
    }

    private func lines(_ path: String, _ line: Int) -> [String]? {
        SourceExcerpt(path: path, line: line, context: 1)?.lines.map { "\($0.number) \($0.text)" }
    }

    @Test func `Lines around a line are read, as far as there are any`() throws {
        let file = try write("one\n\ttwo\nthree\nfour", "Agent.swift")
        #expect(lines(file, 1) == ["1 one", "2     two"])
        #expect(lines(file, 2) == ["1 one", "2     two", "3 three"])
        #expect(lines(file, 4) == ["3 three", "4 four"])
        for line in [5, 0, -1, .max, .min] { #expect(lines(file, line) == nil) }
    }

    @Test(arguments: [
        "/proc/self/environ", "/dev/zero", "/", "relative.swift", "", "/nowhere.swift", "/etc/passwd", "/a\0.swift",
    ])
    func `A path that is no source file is left alone`(path: String) {
        #expect(lines(path, 1) == nil)
    }

    @Test func `Only regular files of less than a mebibyte are read`() throws {
        let file = try write("one", "Agent.swift")
        #expect(symlink(file, path("link.swift")) == 0)
        #expect(symlink("/proc/self/environ", path("environment.swift")) == 0)
        #expect(mkfifo(path("fifo.swift"), 0o600) == 0)
        #expect(mkdir(path("folder.swift"), 0o700) == 0)
        _ = try write(String(repeating: "x\n", count: 1 << 19), "large.swift")
        for name in ["link", "environment", "fifo", "folder", "large"] {
            #expect(lines(path("\(name).swift"), 1) == nil)
        }
    }
}
