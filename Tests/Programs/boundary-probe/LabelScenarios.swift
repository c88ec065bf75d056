import Glibc
import Holdfast
import Synchronization

/// How often a boundary of a label may fault in these scenarios.
let faultsOfLabel = 3

private let route: FaultBoundary.Label = "route"

private let begun = Atomic(0)
private let faulted = Atomic(0)
private let refused = Atomic(0)

private func fault(_ times: Int) async {
    for _ in 0..<times { await attempt("route") { trap() } }
}

/// What labels are counted by, and judged by.
let labelled: [String: @Sendable (Int) async throws -> Void] = [
    "label-quarantine": { _ in
        await fault(faultsOfLabel)
        await attempt("route") { 1 }
        await attempt("other") { 2 }
        say("quarantined \(route.isQuarantined), ended \(route.endQuarantine()), ended \(route.endQuarantine())")
        await attempt("route") { 3 }
        // It is on probation: one fault is enough, and it is out for longer.
        await fault(1)
        await attempt("route") { 4 }
    },
    // Nobody but the next caller looks whether the time is over.
    "label-retried": { _ in
        await fault(faultsOfLabel)
        while true {
            do {
                say("returned \(try await withFaultBoundary(route) { 1 }), quarantined \(route.isQuarantined)")
                return
            } catch is FaultBoundary.QuarantineError {
                await Task.yield()
            }
        }
    },
    // Bodies that had begun before are resumed, however many they are. What else there is to do for them is let in.
    "label-strays": { number in
        await withDiscardingTaskGroup { group in
            for _ in 0..<number {
                group.addTask {
                    do {
                        _ = try await withFaultBoundary(route) {
                            begun.add(1, ordering: .relaxed)
                            while begun.load(ordering: .relaxed) < number { await Task.yield() }
                            return trap()
                        }
                    } catch is FaultError {
                        faulted.add(1, ordering: .relaxed)
                    } catch {
                        refused.add(1, ordering: .relaxed)
                    }
                }
            }
        }
        say("faulted \(faulted.load(ordering: .relaxed)), refused \(refused.load(ordering: .relaxed))")
        await attempt("route") { 1 }
        say("begun: \(try await withFaultBoundary(route.begun) { 2 })")
    },
    // What is known only inside: for the job that says it, for the next one, and for a child.
    "label-set": { _ in
        await attempt("method") {
            try FaultBoundary.setLabel("job")
            return trap()
        }
        await attempt("method") {
            try FaultBoundary.setLabel("next job")
            await Task.yield()
            return trap()
        }
        await attempt("method") {
            try FaultBoundary.setLabel("child")
            async let number = trap()
            return await number
        }
        await fault(faultsOfLabel)
        await attempt("method") {
            try FaultBoundary.setLabel(route)
            return 1
        }
        await attempt("method") {
            try await Task.detached { try FaultBoundary.setLabel("nobody's") }.value
            return 2
        }
    },
    // Jobs of children are judged by the label that they began with, and so is the answer: "old" is quarantined, not "new".
    "label-changed": { _ in
        for _ in 0..<faultsOfLabel {
            let before = begun.load(ordering: .acquiring)
            await attempt("old") {
                async let number = {
                    begun.add(1, ordering: .releasing)
                    while begun.load(ordering: .acquiring) == before + 1 {}
                    return trap()
                }()
                while begun.load(ordering: .acquiring) == before { await Task.yield() }
                try FaultBoundary.setLabel("new")
                begun.add(1, ordering: .releasing)
                return await number
            }
        }
        say("quarantined \(FaultBoundary.Label("old").isQuarantined) \(FaultBoundary.Label("new").isQuarantined)")
        await attempt("old") { 1 }
        await attempt("new") { 2 }
    },
    "label-of-many": { _ in
        let many = FaultBoundary.Label(ofMany: "many")
        for _ in 0...2 * faultsOfLabel {
            do {
                _ = try await withFaultBoundary(many) { trap() }
            } catch let error as FaultError {
                say("fault \(error.number)")
            }
        }
        say("quarantined \(many.isQuarantined)")
    },
    "label-policy": { _ in
        let careful = FaultBoundary.Label("careful")
        careful.recoveryPolicy = .never
        say("others have none: \(route.recoveryPolicy == nil), it has one: \(careful.recoveryPolicy == .never)")
        await attempt("route") { trap() }
        await attempt("careful") { trap() }
    },
]
