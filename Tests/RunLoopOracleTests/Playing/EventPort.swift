import LinuxSystem

/// An eventfd that is a port of a scenario.
final class EventPort: Sendable {
    private let event: EventDescriptor

    init(isReady: Bool) {
        do {
            event = try EventDescriptor()
        } catch {
            fatalError("no eventfd for a scenario: \(error)")
        }
        if isReady { event.notify() }
    }

    var descriptor: CInt { event.rawValue }

    func write() { event.notify() }

    func clear() { event.clear() }
}
