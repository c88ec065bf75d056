import Glibc
import Testing

@testable import ProcessSupervisor

@Suite struct UnitFileTests {
    @Test func `Programs, keys, comments and joined lines are read`() throws {
        let file = try UnitFile(
            """
            # a comment
            [Supervisor]
            Strategy = one_for_all

            [Program web server]
            Type=notify
            ExecStart=/usr/bin/web --name "two words" \\
            ; in between
                --empty '' back\\ slash
            Environment=A=1 "B=2 3"
            ListenStream=127.0.0.1:8080
            ListenStream=/run/web.sock
            Restart=on-failure
            RestartSec=250ms
            SuccessExitStatus=3 SIGTERM
            KillSignal=SIGQUIT
            Probe=http://127.0.0.1:8080/health

            [Program other]
            ExecStart=other
            Restart=no
            """
        )
        #expect(file.strategy == .oneForAll)
        #expect(file.programs.map(\.name) == ["web server", "other"])
        let web = file.programs[0]
        #expect(web.command == ["/usr/bin/web", "--name", "two words", "--empty", "", "back slash"])
        #expect(web.environment == ["A": "1", "B": "2 3"])
        #expect(web.listens == [.tcp(host: "127.0.0.1", port: 8080), .unix(path: "/run/web.sock")])
        #expect(web.readiness == .notify)
        #expect(web.backOff.base == .milliseconds(250))
        #expect(web.successes == [.exited(3), .signalled(SIGTERM)])
        #expect(web.stopSignal == SIGQUIT)
        #expect(web.probe?.question == .http(host: "127.0.0.1", port: 8080, path: "/health"))
        #expect(file.programs[1].restarts == .never)
    }

    @Test(arguments: [
        ("", "no [Program NAME]"), ("A=1", "line 1: A= comes before"), ("[Program a]\nExecStart=", "ExecStart= takes"),
        ("[Program a]\n\nExecStat=x", "line 3: no such key: ExecStat="), ("[Program]", "no such section"),
        ("[Program a]\nExecStart=x\n[Program a]", "line 3: two programs are called 'a'"), ("[Program a", "has no ]"),
        ("[Program a]\nExecStart='x", "ExecStart= takes"), ("[Program a]", "[Program a] has no ExecStart="),
        ("[Program a]\nExecStart=x\nRestart=sometimes", "no, on-failure or always"),
        ("[Program a]\nx", "neither [Section] nor"),
        ("[Supervisor]\nStrategy=all", "one_for_one, rest_for_one or one_for_all"), ("[Program a:b]", "has a colon"),
        ("[Program a]\nListenStream=localhost:80", "ListenStream= takes"),
        ("[Program a]\nEnvironment==x", "NAME=VALUE"),
    ])
    func `What is wrong is told with its line and what would be right`(text: String, part: String) {
        let error = #expect(throws: UnitFile.Malformed.self) { try UnitFile(text) }
        #expect(error?.description.contains(part) == true, "\(error?.description ?? "")")
    }

    @Test func `Any text is a file, or an error`() {
        var generator = SystemRandomNumberGenerator()
        let pieces = [
            "[Program a]\n", "[", "]", "\n", "ExecStart=", "x", "'", "\"", "\\", "=", "Restart=always\n", " ", "#",
            "\u{0}", "é",
            "Environment=A=1\n", "[Supervisor]\n", "\\\n",
        ]
        var good = 0
        for _ in 0..<20_000 {
            let text = (0..<Int.random(in: 0...12, using: &generator)).map { _ in
                pieces.randomElement(using: &generator) ?? ""
            }
            guard let file = try? UnitFile(text.joined()) else { continue }
            good += 1
            #expect(file.programs.allSatisfy { !$0.command.isEmpty && !$0.name.isEmpty })
        }
        #expect(good > 0)
    }

    @Test(arguments: [
        "", "http:/x", "http://", "http://localhost/", "http://127.0.0.1/a b", "exec:", "unix:/x", "tcp:",
    ])
    func `What is no probe is refused`(text: String) {
        #expect(throws: ListenAddress.Malformed.self) { try Probe(text) }
    }

    @Test func `A probe of HTTP has port 80 and the root without others`() throws {
        #expect(try Probe("http://127.0.0.1").question == .http(host: "127.0.0.1", port: 80, path: "/"))
        #expect(try Probe("http://[::1]:81/a?b").question == .http(host: "::1", port: 81, path: "/a?b"))
    }
}
