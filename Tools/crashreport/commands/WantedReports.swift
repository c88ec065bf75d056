import ArgumentParser
import CrashReports

/// Reports that are to be exported; those of a store are read one after the other.
final class WantedReports {
    /// Their identifiers, each once.
    let ids: [ReportID]
    /// Whether a report of the store could not be read, and was left out: it may have been wanted.
    private(set) var isIncomplete = false

    private enum Source {
        case memory([CrashReport])
        case store(ReportStore)
    }

    private let source: Source

    /// Takes reports that a user named: each must be there.
    init(named names: [String], _ options: StoreOptions) throws {
        var reports: [CrashReport] = []
        for name in names {
            let report = try ReportReference(name).load(options)
            // The same report twice is one.
            if !reports.contains(where: { $0.id == report.id }) { reports.append(report) }
        }
        ids = reports.map(\.id)
        source = .memory(reports)
    }

    /// Looks for the reports of the store that fit a filter; what cannot be read is named.
    init(_ options: StoreOptions, _ filter: ReportFilter) throws {
        let found = try FoundReports(options, filter)
        // What could not be read may have been wanted: that is another status than that none fits.
        guard !found.summaries.isEmpty || found.problems.isEmpty else { throw ExitStatus.damaged }
        try found.requireSome()
        ids = found.summaries.map(\.id)
        source = .store(found.store)
        isIncomplete = !found.problems.isEmpty
    }

    /// Reads a report; nil if it is gone meanwhile, or cannot be read, which is said.
    func read(_ number: Int) throws -> CrashReport? {
        switch source {
        case .memory(let reports): return reports[number]
        case .store(let store):
            do {
                return try store.load(ids[number])
            } catch {
                // Removed since: there is nothing wrong with that.
                guard error.code != .noSuchReport else { return nil }
                Output.complain(error.description)
                isIncomplete = true
                return nil
            }
        }
    }

    /// The status when none could be read.
    func nothing() -> ExitCode {
        guard !isIncomplete, case .store(let store) = source else { return ExitStatus.damaged }
        return ExitStatus.noMatch(in: store)
    }
}
