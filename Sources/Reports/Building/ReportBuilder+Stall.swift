/// Reports of what did not go on, which have no record.
extension ReportBuilder {
    /// Makes the report of a stall.
    ///
    /// - Parameters:
    ///   - stall: What did not go on.
    ///   - record: Where its thread was when it was looked at last, and the other threads.
    ///   - images: The images of the process at that time.
    ///   - notes: What else the reader should know.
    /// - Returns: A report with the same id for the same stall, counted once.
    package func report(
        of stall: CrashReport.Stall,
        _ record: FaultRecord,
        images: [CrashReport.Image],
        notes: [String] = []
    ) -> CrashReport {
        var report = report(of: record, images: images, notes: notes)
        report.subject = .stall(stall)
        report.reason = stall.reason
        report.verdict = CrashReport.Verdict(decision: .wait, reason: "nothing is done about it: it may end by itself")
        report.explain()
        return report
    }

    /// The calls of a stack that was seen.
    ///
    /// - Parameters:
    ///   - addresses: Program counters, innermost first: the first one exact, the rest return addresses.
    ///   - headCount: How many of them are the innermost ones.
    ///   - omitted: How many lie between these and the rest.
    ///   - images: The images of the process.
    /// - Returns: A frame for each, and those that were inlined there.
    package func frames(
        at addresses: [UInt64],
        headCount: Int,
        omitted: Int,
        images: [CrashReport.Image]
    ) -> [CrashReport.Frame] {
        use(images)
        var runtimeFailure: String?
        return frames(at: addresses, headCount: headCount, omitted: omitted, runtimeFailure: &runtimeFailure)
    }
}
