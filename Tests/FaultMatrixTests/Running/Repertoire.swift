import FaultInjection

/// What the probe must have checked after a fault that was resumed.
enum Repertoire {
    private static let ofEveryLoop = [
        "perform and wait", "source", "port", "timer that fires once", "timer that repeats",
        "observer of every activity",
        "block", "performs in order", "delayed perform", "message port", "mode and nesting",
        "nested run in another mode", "sleep and wake-up", "signal mask and alternate stack", "no task is current",
        "no task-local and no exception", "checked accesses", "Mutex", "pthread mutex", "allocation",
        "print", "lazy globals", "new metadata",
    ]

    /// The lines that a probe writes in which everything works.
    static func lines(of matrixCase: MatrixCase) -> Set<String> {
        var checks = ["fault is reached", "item is called again", "item is called once more"]
        if matrixCase.place != .faultHandler { checks += ["first fault is told of", "second fault is told of"] }
        checks += (ofEveryLoop + ["main dispatch queue", "main actor"]).map { "main " + $0 }
        if matrixCase.site == .second { checks += (ofEveryLoop + ["task"]).map { "second " + $0 } }
        if matrixCase.cause == .hazard(.watchedFrame) { checks.append("frame is as it was") }
        return Set(checks.map { "check \($0): ok" } + ["driven"])
    }
}
