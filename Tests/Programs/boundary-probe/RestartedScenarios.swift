import FaultInjection
import Glibc
import Holdfast

private actor Counter {
    func count() -> Int { trap() }
}

/// Restarts the process by a fault, so often.
private func endEarly(_ number: Int) async throws {
    let restarts = await MainActor.run { EventHost.started?.restarts ?? 0 }
    guard restarts < number else { return say("restarts \(restarts)") }
    _ = try await withFaultBoundary("actor") { await Counter().count() }
}

/// Faults that restart the process: one that has served is replaced at once, however often.
let restarted: [String: @Sendable (Int) async throws -> Void] = [
    "served-something": { number in
        await attempt("ok") { 1 }
        // The main loop hears of it.
        await MainActor.run {}
        try await endEarly(number)
    },
    "served-tasks": { number in
        while await MainActor.run(body: { EventHost.started?.hasServed != true }) {
            try await Task.sleep(for: .milliseconds(10))
        }
        try await endEarly(number)
    },
    // The caller hears nothing, and the record says all the same whose work it was.
    "served-described": { number in
        let restarts = await MainActor.run { EventHost.started?.restarts ?? 0 }
        guard restarts < number else { return say("restarts \(restarts)") }
        let label = FaultBoundary.Label("actor").described {
            ["request.id": "\(restarts)", "password": "swordfish"]
        }
        _ = try await withFaultBoundary(label) {
            async let number = Counter().count()
            return await number
        }
    },
    "served-nothing": { number in try await endEarly(number) },
]
