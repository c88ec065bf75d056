import RunLoops

/// A part of a program that belongs to the main actor, and so do its closures.
@MainActor
final class IsolationScenario {
    private let loop = HostRunLoop.main
    private var count = 0

    private func tell(_ caller: String) {
        count += 1
        say("\(caller) \(count)")
    }

    /// A closure that is a method.
    private func fire(_ timer: HostRunLoop.Timer) {
        tell(timer.label)
        loop.stop()
    }

    /// Has closures of the main actor called by the main loop.
    func play() {
        let source = HostRunLoop.Source(label: "source") { source in self.tell(source.label) }
        loop.add(source)
        source.signal()
        loop.performWithoutWaking { self.tell("perform") }
        loop.add(HostRunLoop.Timer(label: "timer", after: .milliseconds(10), perform: fire))
        loop.run()
    }
}
