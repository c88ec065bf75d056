import CRecoveryPoint

/// What a recovery point adds to a call of a C function.
struct RecoveryPointBenchmark {
    let rounds: Int
    private static let calls = 2_000_000
    /// The names of the rows, in their order.
    static let names = ["guarded call", "recovery point, added per callout"]

    func rows() -> [Row] {
        guard let stack = unsafe hf_callout_stack_create(64 * 1024) else { return [] }
        defer { unsafe hf_callout_stack_destroy(stack) }
        // As a loop does at the start of a run, once for all its callouts.
        let outerRun = hf_recovery_begin_run()
        defer { hf_recovery_end_run(outerRun) }
        var info = unsafe HFCalloutInfo()
        // Through a pointer that the compiler cannot see through, as the loop calls its items.
        nonisolated(unsafe) var body: HFBody = { _ in unsafe counter &+= 1 }
        unsafe withUnsafeMutablePointer(to: &body) { unsafe hide($0) }
        var guarded: [Double] = []
        var plain: [Double] = []
        var added: [Double] = []
        for _ in 0..<rounds {
            let start = now()
            for _ in 0..<Self.calls { unsafe body(nil) }
            let middle = now()
            for _ in 0..<Self.calls { _ = unsafe hf_recovery_run(stack, &info, body, nil) }
            let end = now()
            plain.append((middle - start) / Double(Self.calls))
            guarded.append((end - middle) / Double(Self.calls))
            added.append((end - 2 * middle + start) / Double(Self.calls))
        }
        return [
            Row(Self.names[0], Sample(guarded).median, peer: ("plain call", Sample(plain).median)),
            Row(Self.names[1], Sample(added).median),
        ]
    }

    @inline(never)
    private func hide(_ pointer: UnsafeMutableRawPointer) { unsafe hidden = pointer }
}

/// What the measured body changes.
///
/// Protected by: one thread.
private nonisolated(unsafe) var counter: UInt64 = 0
/// Keeps the compiler from knowing what a pointer points to.
///
/// Protected by: one thread.
private nonisolated(unsafe) var hidden: UnsafeMutableRawPointer?
