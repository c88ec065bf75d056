import CBenchmark
import Glibc
import RunLoops

/// Port sources on eventfds.
enum PortRows {
    /// An eventfd that its own callout writes.
    static func selfWake(_ count: Int, _: Int) {
        let measurement = Measurement(count)
        let descriptor = make_event(true)
        let source = addPort(descriptor, to: measurement.loop) {
            read_event(descriptor)
            if measurement.goesOn() { write_event(descriptor) }
        }
        measurement.runAndReport("port")
        source.invalidate()
        close(descriptor)
    }

    /// Some eventfds that are written again when all were served, beside many that nobody writes.
    static func manyDescriptors(_ count: Int, _ idle: Int) {
        allow_descriptors(idle + 100)
        let (warmUp, activeCount) = (Int(WARM_UP_EVENTS), Int(ACTIVE))
        let measurement = Measurement(warmUp + count)
        var sources = (0..<idle).map { _ in
            addPort(make_event(false), to: measurement.loop) { check(false, "an idle descriptor was served") }
        }
        let active = (0..<activeCount).map { _ in make_event(true) }
        sources += active.map { descriptor in
            addPort(descriptor, to: measurement.loop) {
                read_event(descriptor)
                if measurement.calls == warmUp { measurement.start = now() }
                guard measurement.goesOn(), measurement.calls % activeCount == 0 else { return }
                for descriptor in active { write_event(descriptor) }
            }
        }
        measurement.loop.run(for: .seconds(10_000_000_000))
        let end = now()
        expect_count(measurement.calls, warmUp + count)
        tell("descriptors", Double(end - measurement.start) / Double(count))
        for source in sources { source.invalidate() }
    }
}
