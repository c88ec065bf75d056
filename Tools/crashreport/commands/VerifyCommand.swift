import ArgumentParser
import CrashReports
import SystemPackage

/// Checks a store.
struct VerifyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "verify",
        abstract: "Check a store, and say what is wrong with it.",
        discussion: """
            Reads every report. With --repair, what can be put right without losing anything is put right: the permissions, \
            the index, what writers left that died.

            EXAMPLES:
              crashreport verify
              crashreport verify --repair --store /var/lib/mail-agent
            """
    )

    @OptionGroup
    var options: StoreOptions

    @Flag(help: "Put right what can be put right without losing anything.")
    var repair = false

    @Flag(help: "Print the findings as JSON.")
    var json = false

    func run() throws {
        let store = try options.openExisting()
        if repair { options.finish(store) }
        let result = Progress.shown("checking reports") { progress in
            store.verify(repair: repair) { progress.update(done: $0, total: $1) }
        }
        if json {
            try Output.write(bytes: try JSONText.encode(VerifyAnswer(result, of: store)))
        } else {
            let layout = Terminal.standardOutput.layout
            var text = ""
            for finding in result.findings {
                let repair =
                    switch finding.repair {
                    case .done: "put right"
                    case .failed: "could not be put right: \(finding.advice)"
                    case .none: finding.advice
                    }
                text += layout.visible("\(finding.kind.rawValue): \(finding.path): \(finding.problem)") + "\n"
                text += layout.visible("  \(repair)") + "\n"
            }
            let size = "\(result.reports) reports can be read (\(ByteCount(result.bytes).text))"
            let verdict = result.isSound ? "nothing is wrong" : "\(result.findings.count) findings"
            text += layout.visible("\(store.path): \(size), \(verdict)") + "\n"
            try Output.write(text)
        }
        if result.findings.contains(where: { $0.isSerious && $0.repair != .done }) { throw ExitStatus.damaged }
    }
}

/// What `verify --json` prints.
private struct VerifyAnswer: Encodable {
    struct Finding: Encodable {
        var kind: String
        var path: String
        var problem: String
        var advice: String
        var isSerious: Bool
        var repair: String
    }

    var store: String
    var reports: Int
    var bytes: Int
    var isSound: Bool
    var findings: [Finding]

    init(_ result: StoreVerification, of store: ReportStore) {
        self.store = store.path.string
        reports = result.reports
        bytes = result.bytes
        isSound = result.isSound
        findings = result.findings.map { finding in
            Finding(
                kind: finding.kind.rawValue,
                path: finding.path.string,
                problem: finding.problem,
                advice: finding.advice,
                isSerious: finding.isSerious,
                repair: finding.repair.rawValue
            )
        }
    }
}
