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
        self.filter = filter
        let store = try options.openFinished()
        let listing = try Progress.shown("reading reports") { progress in
            try store.summaries(matching: filter) { progress.update(done: $0, total: $1) }
        }
        (self.store, summaries, problems) = (store, listing.summaries, listing.problems)
        for problem in problems { Output.complain(problem.description) }
    }

    /// Says that nothing fits, if nothing does.
    ///
    /// - Throws: The exit code.
    func requireSome() throws {
        guard summaries.isEmpty else { return }
        throw ExitStatus.nothing(in: store, problems, filter)
    }
}
