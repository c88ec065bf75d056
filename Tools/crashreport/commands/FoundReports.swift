import CrashReports

/// The summaries of the reports that fit a filter.
struct FoundReports {
    let store: ReportStore
    let summaries: [ReportSummary]
    /// Why reports that may fit, too, could not be read; said already.
    let problems: [ReportStoreError]

    private let filter: ReportFilter

    /// Reads the store, with progress; what cannot be read is named on the standard error.
    ///
    /// - Throws: The exit code, after saying why.
    init(_ options: StoreOptions, _ filter: ReportFilter) throws {
        let progress = Progress("reading reports")
        defer { progress.end() }
        self.filter = filter
        do {
            store = try options.openFinished()
            let listing = try store.summaries(matching: filter) { progress.update(done: $0, total: $1) }
            summaries = listing.summaries
            problems = listing.problems
        } catch {
            progress.end()
            throw Failure.exit(for: error)
        }
        progress.end()
        for problem in problems { Output.complain(problem.description) }
    }

    /// Says that nothing fits, if nothing does.
    ///
    /// - Throws: The exit code.
    func requireSome() throws {
        guard summaries.isEmpty else { return }
        throw Failure.nothing(in: store, problems, filter)
    }
}
