import CBenchmark
import RunLoops

/// Passes and runs with nothing but sources.
enum PassRows {
    /// A source that signals itself.
    static func pass(_ count: Int, _: Int) {
        let measurement = Measurement(count)
        let own = Box<HostRunLoop.Source>()
        let source = addSource(to: measurement.loop) {
            if measurement.goesOn() { own.value?.signal() }
        }
        own.value = source
        source.signal()
        measurement.runAndReport("pass")
        source.invalidate()
        own.value = nil
    }

    /// Runs of one pass that does not wait and finds nothing.
    static func poll(_ count: Int, _: Int) {
        let measurement = Measurement(count)
        let timer = addFarTimer(to: measurement.loop)
        let start = now()
        for _ in 0..<count {
            check(measurement.loop.run(for: .zero) == .timedOut, "an idle poll was not over at once")
        }
        tell("poll", Double(now() - start) / Double(count))
        timer.invalidate()
    }

    /// Runs with a limit that serve one source and end.
    static func slice(_ count: Int, _: Int) {
        let measurement = Measurement(count)
        let source = addSource(to: measurement.loop) { measurement.count() }
        let start = now()
        for _ in 0..<count {
            source.signal()
            let result = measurement.loop.run(for: .seconds(10), returnAfterSourceHandled: true)
            check(result == .handledSource, "a slice did not serve its source")
        }
        measurement.finish("slice", time: now() - start)
        source.invalidate()
    }

    /// Two sources that signal each other and wake the loop.
    static func signal(_ count: Int, _: Int) { signal("signal", count, beside: []) }

    /// The same beside others that nobody signals.
    static func sources(_ count: Int, _ idle: Int) {
        let loop = HostRunLoop.current
        let others = (0..<idle).map { _ in addSource(to: loop) { check(false, "an idle source was served") } }
        signal("sources", count, beside: others)
    }

    /// A signal and a run in each of many modes in turn, all of which have a source.
    static func modes(_ count: Int, _ number: Int) {
        let measurement = Measurement(count)
        let loop = measurement.loop
        let modes = (0..<number).map { HostRunLoop.Mode(rawValue: "mode \($0)") }
        let sources = modes.map { mode in
            let source = HostRunLoop.Source(label: "benchmark") { _ in measurement.count() }
            loop.add(source, to: mode)
            return source
        }
        let start = now()
        for index in 0..<count {
            sources[index % number].signal()
            let result = loop.run(in: modes[index % number], for: .seconds(10), returnAfterSourceHandled: true)
            check(result == .handledSource, "a run did not serve its source")
        }
        measurement.finish("modes", time: now() - start)
        for source in sources { source.invalidate() }
    }

    private static func signal(_ name: StaticString, _ count: Int, beside idle: [HostRunLoop.Source]) {
        let measurement = Measurement(count)
        let loop = measurement.loop
        let others = [Box<HostRunLoop.Source>(), Box<HostRunLoop.Source>()]
        let pair = others.map { other in
            addSource(to: loop) {
                guard measurement.goesOn() else { return }
                other.value?.signal()
                loop.wakeUp()
            }
        }
        others[0].value = pair[1]
        others[1].value = pair[0]
        pair[0].signal()
        measurement.runAndReport(name)
        for source in idle { source.invalidate() }
        for index in pair.indices {
            pair[index].invalidate()
            others[index].value = nil
        }
    }
}

/// What a closure knows that is made after it.
///
/// Protected by: set before the loop runs.
final class Box<Value>: @unchecked Sendable {
    var value: Value?
}
