import ArgumentParser
import FaultInjection

/// A fault that is committed at start, as `--inject` takes it: `FAULT@PLACE[:COUNT]`.
struct Injection: ExpressibleByArgument, Sendable {
    /// Which kind of callout commits it.
    enum Place: String, CaseIterable, Sendable {
        case source
        case port
        case timer
        case observer
        case block
        case mainQueue = "main-queue"

        static var list: String { allCases.map(\.rawValue).joined(separator: ", ") }
    }

    let fault: Fault
    let place: Place
    let count: Int

    init?(argument: String) {
        let halves = argument.split(separator: "@", maxSplits: 1)
        guard halves.count == 2, let fault = Fault(rawValue: String(halves[0])) else { return nil }
        let parts = halves[1].split(separator: ":", maxSplits: 1)
        guard let name = parts.first, let place = Place(rawValue: String(name)) else { return nil }
        self.fault = fault
        self.place = place
        guard parts.count == 2 else {
            count = 1
            return
        }
        guard let count = Int(parts[1]), count > 0 else { return nil }
        self.count = count
    }
}
