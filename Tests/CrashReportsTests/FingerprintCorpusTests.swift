import Foundation
import TestSupport
import Testing

@testable import CrashReports

/// How well the fingerprint tells bugs apart, by reports of bugs that are known.
@Suite(.timeLimit(.minutes(10))) struct FingerprintCorpusTests {
    private let corpus: Corpus

    init() throws {
        corpus = try Corpus()
    }

    /// Which function failed and how, as version 1 saw it: the signal, and five functions.
    private static func versionOne(_ report: CrashReport) -> [String] {
        let frames = report.thread.frames.filter { $0.runtimeFailure == nil }
        let own = frames.filter(\.isUserCode)
        var names: [String] = []
        for name in (own.isEmpty ? frames : own).compactMap({ $0.function ?? $0.imageLocation })
        where name != names.last {
            names.append(name)
            if names.count == 5 { break }
        }
        return [report.fault?.signal.name ?? ""] + names
    }

    private static let rules: [(name: String, key: @Sendable (CrashReport) -> [String])] = [
        ("version 1", versionOne),
        ("version 2", { FingerprintFields(of: $0).all }),
        ("version 2 with 2 functions", { FingerprintFields(of: $0, limit: 2).all }),
        ("version 2 with 3 functions", { FingerprintFields(of: $0, limit: 3).all }),
        ("version 2 with 5 functions", { FingerprintFields(of: $0, limit: 5).all }),
    ]

    /// The builds that are compared with each other.
    private static let sets: [(name: String, builds: Set<String>)] = [
        ("one build, and the same a week later", ["release", "release-shifted"]),
        ("debug and optimised builds", ["debug", "debug-shifted", "release", "release-shifted", "cross-module"]),
        (
            "the same, and one without debug information",
            ["debug", "debug-shifted", "release", "release-shifted", "cross-module", "release-nodebug"]
        ),
    ]

    /// The lines that the documentation has.
    private var table: [String] {
        Self.sets.flatMap { set in
            let entries = corpus.entries.filter { set.builds.contains($0.build) }
            return Self.rules.map { rule in
                "| \(set.name) | \(rule.name) | \(Corpus.figures(entries, by: rule.key)) |"
            }
        }
    }

    @Test func `The documentation has the figures`() throws {
        let page = BuiltProduct.file("Documentation/Fingerprints.md")
        let text = try String(contentsOf: page, encoding: .utf8)
        #expect(text.contains("\(corpus.entries.count) reports of \(Set(corpus.entries.map(\.label)).count) bugs"))
        let table = table
        for line in table {
            #expect(
                text.contains(line + "\n"),
                "the table of \(page.lastPathComponent) is:\n\(table.joined(separator: "\n"))"
            )
        }
    }

    @Test func `A fingerprint is made of these fields`() {
        for entry in corpus.entries.prefix(50) {
            let fields = FingerprintFields(of: entry.report)
            #expect(Fingerprint(of: entry.report) == Fingerprint(fields: fields.all))
        }
    }

    @Test func `Bugs are neither split nor merged`() {
        let usual = corpus.entries.filter { $0.build == "release" || $0.build == "release-shifted" }
        #expect(usual.count > 200)
        let figures = Corpus.figures(usual, by: Fingerprint.init(of:))
        // Three pairs of bugs are made to be merged: see below.
        #expect(figures.precision > 0.85, "\(figures)")
        #expect(figures.recall > 0.99, "\(figures)")
        let all = corpus.entries.filter { $0.build != "release-nodebug" }
        let across = Corpus.figures(all, by: Fingerprint.init(of:))
        #expect(across.precision > 0.95, "\(across)")
        #expect(across.recall > 0.95, "\(across)")
    }

    /// What the documentation names as the limits of the rule.
    @Test func `Only these bugs are merged, and only these split`() {
        let entries = corpus.entries.filter { $0.build != "release-nodebug" }
        let groups = Dictionary(grouping: entries) { Fingerprint(of: $0.report) }
        let merged = Set(groups.values.map { Set($0.map(\.label)).sorted() }.filter { $0.count > 1 })
        #expect(
            merged == [
                // Two of one kind in one function.
                ["probe parse-nil", "probe parse-other-nil"],
                // The optimiser made one function of two.
                ["probe endless", "probe endless-other"], ["probe file-store", "probe memory-store"],
            ]
        )
        let bugs = Dictionary(grouping: entries, by: \.label)
        let split = Set(bugs.filter { Set($0.value.map { Fingerprint(of: $0.report) }).count > 1 }.keys)
        // Optimised, these say less than in a debug build.
        #expect(
            split == [
                "probe endless", "probe endless-other", "probe file-store", "probe memory-store", "probe first-handler",
                "probe second-handler",
            ]
        )
    }

    @Test func `Every fault of the catalogue has a diagnosis of its own, in every build`() {
        let catalogue = corpus.entries.filter { $0.program == "catalogue" }
        var seen: [String: Set<String>] = [:]
        for entry in catalogue {
            let diagnosis = CrashReport.Diagnosis(of: entry.report)
            #expect(!diagnosis.next.isEmpty)
            // Without the place.
            let start = diagnosis.summary.firstRange(of: ", in ")?.lowerBound ?? diagnosis.summary.endIndex
            // Whose stack is used up depends on the thread.
            let words = diagnosis.summary.firstRange(of: " is used up").map { diagnosis.summary[$0.lowerBound...] }
            seen[entry.bug, default: []].insert(StableText.of(String(words ?? diagnosis.summary[..<start])))
            #expect(!diagnosis.summary.hasPrefix("The process got"), "\(entry.bug): \(diagnosis.summary)")
        }
        #expect(seen.count > 35)
        for (bug, summaries) in seen where bug != "precondition" {
            #expect(summaries.count == 1, "\(bug): \(summaries)")
        }
    }
}
