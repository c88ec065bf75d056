import Foundation
import ReportTestSupport
import SystemPackage
import TestSupport
import Testing

@testable import CrashReports

/// What a shell completes, and what `man` shows.
@Suite(.timeLimit(.minutes(10))) struct CompletionTests {
    private let temporary: TemporaryStore

    init() throws {
        temporary = try TemporaryStore()
        try SampleStore.fill(temporary.store)
    }

    /// Asks bash what it would complete a line to; the last word is the one with the cursor behind it.
    private func completions(_ words: String...) throws -> [String] {
        let command = try BuiltProduct.path(of: "crashreport")
        let script = """
            PATH="$(dirname "$0"):$PATH"
            source <("$0" --generate-completion-script bash)
            specification="$(complete -p crashreport)"
            COMP_WORDS=(crashreport "$@") COMP_CWORD=$# COMP_LINE="crashreport $*"
            COMP_POINT=${#COMP_LINE} COMPREPLY=()
            "$(sed 's/.*-F \\([^ ]*\\).*/\\1/' <<<"$specification")" crashreport "${@: -1}" "${COMP_WORDS[COMP_CWORD-1]}"
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let environment = ["HOLDFAST_STORE": temporary.store.path.string]
        let result = try ProgramRun.run(
            "/bin/bash",
            ["-c", script, command] + words,
            environment: environment,
            within: ProgramRun.patience
        )
        #expect(result.errors == "")
        return result.output.split(separator: "\n").map(String.init)
    }

    @Test(arguments: ["bash", "zsh", "fish"]) func `There is a script for each shell`(shell: String) throws {
        let script = try ProgramRun.crashreport(["--generate-completion-script", shell])
        #expect(script.exitCode == 0)
        #expect(script.output.contains("stats"))
        guard shell == "bash" else { return }
        let file = temporary.directory.appending("completion").string
        try script.output.write(toFile: file, atomically: false, encoding: .utf8)
        #expect(try ProgramRun.run("/bin/bash", ["-n", file]).exitCode == 0)
    }

    @Test func `Commands, options and values are completed`() throws {
        #expect(try completions("st") == ["stats"])
        #expect(try completions("list", "--verd") == ["--verdict"])
        #expect(try completions("list", "--verdict", "res") == ["resume", "restart"])
        #expect(try completions("list", "--kind", "st") == ["stall"])
        #expect(try completions("list", "--signal", "SIGSE") == ["SIGSEGV"])
    }

    @Test func `What is in the store is completed`() throws {
        let ids = try SampleStore.reports().map { String($0.id.rawValue.prefix(12)) }
        #expect(try Set(completions("show", "")) == Set(ids + ["last"]))
        #expect(try completions("diff", "last", String(ids[0].prefix(8))) == [ids[0]])
        #expect(try completions("show", "v2-2") == ["v2-2222222222222222"])
        #expect(try completions("list", "--fingerprint", "v2-3") == ["v2-3333333333333333"])
        // Only what no shell and no terminal stumbles over.
        #expect(try completions("list", "--process", "") == ["mail-agent"])
        let other = temporary.directory.appending("other").string
        #expect(try completions("show", "--store", other, "") == ["last"])
    }

    @Test(arguments: [
        (["up"], ["upgrade"]), (["run", "--stop-t"], ["--stop-timeout"]), (["run", "--restart", "on"], ["on-failure"]),
        (["status", "--w"], ["--watch"]), (["run", "--", "/bin/mktem"], ["/bin/mktemp"]),
    ])
    func `Commands and options of the supervisor are completed`(words: [String], wanted: [String]) throws {
        let script = """
            PATH="$(dirname "$0"):$PATH"
            source "$1"
            shift
            COMP_WORDS=(holdfast "$@") COMP_CWORD=$# COMPREPLY=()
            _holdfast
            printf '%s\\n' "${COMPREPLY[@]}"
            """
        let file = BuiltProduct.file("Tools/holdfast/completions/holdfast.bash").path
        let command = try BuiltProduct.path(of: "holdfast")
        let result = try ProgramRun.run("/bin/bash", ["-c", script, command, file] + words)
        #expect(result.errors == "" && result.output == wanted.joined(separator: "\n") + "\n")
    }

    @Test func `Manual pages are those of the options`() throws {
        let command = try BuiltProduct.path(of: "crashreport")
        let folder = String(command.dropLast("/crashreport".count))
        let script = BuiltProduct.file("Tools/man-pages").path
        let result = try ProgramRun.run(script, ["--check", "--products", folder], within: ProgramRun.patience)
        #expect(result.exitCode == 0, "\(result.errors)")
    }

    @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/groff")))
    func `Manual pages are rendered without a warning`() throws {
        let folder = BuiltProduct.file("Documentation/man")
        let pages = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        #expect(pages.count >= 9)
        for page in pages {
            let result = try ProgramRun.run("/usr/bin/groff", ["-ww", "-man", "-Tutf8", "-P-cbou", page.path])
            #expect(result.exitCode == 0)
            #expect(result.errors == "", "\(page.lastPathComponent)")
            #expect(result.output.contains("SYNOPSIS"))
        }
    }
}
