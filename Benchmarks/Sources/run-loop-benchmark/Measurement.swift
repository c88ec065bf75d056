import CBenchmark
import RunLoops
import SystemPackage

/// What the callouts of one measurement share.
///
/// Protected by: the loop's thread, which alone touches what changes.
final class Measurement: @unchecked Sendable {
    let loop = HostRunLoop.current
    let wanted: Int
    private(set) var calls = 0
    /// When posting began.
    var start: Int64 = 0

    init(_ count: Int) {
        wanted = count
    }

    /// Counts a callout, ends the run with the last, and says whether there are more to come.
    @discardableResult
    func goesOn() -> Bool {
        calls += 1
        guard calls == wanted else { return calls < wanted }
        loop.stop()
        return false
    }

    /// Counts a callout.
    func count() { calls += 1 }

    /// Runs until the last callout and reports the time of each.
    func runAndReport(_ name: StaticString) {
        let start = now()
        let result = loop.run(for: .seconds(10_000_000_000))
        let end = now()
        check(result == .stopped, "the run was not stopped")
        finish(name, time: end - start)
    }

    /// Reports the time of each callout.
    func finish(_ name: StaticString, time: Int64) {
        expect_count(calls, wanted)
        tell(name, Double(time) / Double(wanted))
    }
}

/// Adds a source that is signalled by hand.
func addSource(to loop: HostRunLoop, _ perform: @escaping @Sendable () -> Void) -> HostRunLoop.Source {
    let source = HostRunLoop.Source(label: "benchmark") { _ in perform() }
    loop.add(source)
    return source
}

/// Adds a timer that does not fire during the measurement.
func addFarTimer(to loop: HostRunLoop) -> HostRunLoop.Timer {
    let timer = HostRunLoop.Timer(label: "benchmark", after: .seconds(1000)) { _ in }
    loop.add(timer)
    return timer
}

/// Adds a port source.
func addPort(
    _ descriptor: CInt,
    to loop: HostRunLoop,
    _ serve: @escaping @Sendable () -> Void
) -> HostRunLoop.PortSource {
    let source = HostRunLoop.PortSource(label: "benchmark", descriptor: FileDescriptor(rawValue: descriptor)) { _, _ in
        serve()
    }
    do {
        try loop.add(source)
    } catch {
        check(false, "a descriptor was refused")
    }
    return source
}

/// Reports a value.
func tell(_ name: StaticString, _ value: Double) {
    unsafe name.utf8Start.withMemoryRebound(to: CChar.self, capacity: name.utf8CodeUnitCount + 1) { name in
        unsafe report(name, value)
    }
}

/// Ends the program unless what was to be measured did happen.
func check(_ condition: Bool, _ complaint: StaticString) {
    guard !condition else { return }
    unsafe fail(complaint.description)
}
