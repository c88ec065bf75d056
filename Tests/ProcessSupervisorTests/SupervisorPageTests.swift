import Foundation
import TestSupport
import Testing

private let analyzer = "/usr/bin/systemd-analyze"

/// The examples of the pages.
@Suite(.timeLimit(.minutes(2))) struct SupervisorPageTests {
    /// The blocks of a language on a page.
    private static func blocks(_ language: String, on page: String) throws -> [String] {
        let text = try String(contentsOf: BuiltProduct.file(page), encoding: .utf8)
        return text.components(separatedBy: "```\(language)\n").dropFirst().map {
            $0.components(separatedBy: "```").first ?? ""
        }
    }

    @Test(
        .enabled(if: FileManager.default.isExecutableFile(atPath: analyzer), "needs systemd-analyze"),
        arguments: ["README.md", "Documentation/Supervisor.md"]
    )
    func `Systemd has nothing to say against the units`(page: String) throws {
        let units = try Self.blocks("ini", on: page).filter { $0.contains("\n[Service]\nType=") }
        try #require(!units.isEmpty)
        for unit in units {
            // The program of the example is not there.
            let lines = unit.split(separator: "\n", omittingEmptySubsequences: false)
                .map { $0.hasPrefix("ExecStart=") ? "ExecStart=/bin/true" : $0 }
            #expect(try Self.verify(lines.joined(separator: "\n")) == "")
            // It would say so.
            #expect(try Self.verify(lines.joined(separator: "\n") + "\n[Service]\nNoSuchKey=1\n").contains("NoSuchKey"))
        }
    }

    private static func verify(_ unit: String) throws -> String {
        let folder = try TemporaryFolder()
        try folder.write(unit, to: "example.service")
        let run = try ProgramRun.run(analyzer, ["verify", "--man=no", "\(folder.path)/example.service"])
        return run.output + run.errors
    }

    @Test func `The entry point of the image is understood, and runs its command`() throws {
        let file = try #require(try Self.blocks("dockerfile", on: "Documentation/Supervisor.md").first)
        let entry = try #require(file.split(separator: "\n").first { $0.hasPrefix("ENTRYPOINT ") })
        let words = try JSONDecoder().decode([String].self, from: Data(entry.dropFirst("ENTRYPOINT ".utf8.count).utf8))
        try #require(words.first == "/usr/local/bin/holdfast" && words.last == "--")
        let store = try StoreReader()
        let arguments = try words.dropFirst().map {
            ["/var/lib/holdfast": store.path, "tcp:8080": "tcp:127.0.0.1:\(try Loopback.freePort())"][$0] ?? $0
        }
        let run = try ProgramRun.run(
            BuiltProduct.path(of: "holdfast"),
            arguments + ["/bin/sh", "-c", "echo served by $LISTEN_FDS; exit 0"]
        )
        #expect(run.output == "served by 1\n")
        #expect(run.end == .exited(0), "\(run.errors)")
    }
}
