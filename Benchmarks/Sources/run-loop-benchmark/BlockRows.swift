import CBenchmark
import RunLoops

/// Blocks that are posted to the loop.
enum BlockRows {
    /// Blocks from other threads, as many as `threads`.
    static func posted(_ count: Int, _ threads: Int) {
        let measurement = Measurement(count / threads * threads)
        let argument = unsafe Unmanaged.passUnretained(measurement).toOpaque()
        unsafe measure("blocks", measurement, threads, argument) { argument in
            guard let argument = unsafe argument else { return }
            // Both outlive the posts: no reference is counted but the block's own.
            unsafe Unmanaged<Measurement>.fromOpaque(argument)._withUnsafeGuaranteedRef { measurement in
                unsafe Unmanaged.passUnretained(measurement.loop)._withUnsafeGuaranteedRef { loop in
                    loop.performWithoutWaking { measurement.goesOn() }
                    loop.wakeUp()
                }
            }
        }
    }

    /// Commands that other threads, as many as `threads`, send to a command source.
    static func commands(_ count: Int, _ threads: Int) {
        let measurement = Measurement(count / threads * threads)
        let source = HostRunLoop.CommandSource<Int>(label: "benchmark") { if $1 == 1 { measurement.goesOn() } }
        measurement.loop.add(source)
        let argument = unsafe Unmanaged.passUnretained(source).toOpaque()
        unsafe measure("commands", measurement, threads, argument) { argument in
            guard let argument = unsafe argument else { return }
            unsafe Unmanaged<HostRunLoop.CommandSource<Int>>.fromOpaque(argument)._withUnsafeGuaranteedRef {
                _ = $0.send(1)
            }
        }
        source.invalidate()
    }

    /// From the moment in which the threads begin to that of the last callout.
    private static func measure(
        _ name: StaticString,
        _ measurement: Measurement,
        _ threads: Int,
        _ argument: UnsafeMutableRawPointer,
        _ post: @convention(c) (UnsafeMutableRawPointer?) -> Void
    ) {
        let starter = addSource(to: measurement.loop) {
            measurement.start = now()
            open_gate()
        }
        starter.signal()
        var posters = Posters()
        unsafe make_posters(&posters, CInt(threads), measurement.wanted, post, argument)
        measurement.loop.run(for: .seconds(10_000_000_000))
        let end = now()
        unsafe join_posters(&posters)
        measurement.finish(name, time: end - measurement.start)
        starter.invalidate()
    }

    /// Blocks that wait until the loop runs.
    static func waiting(_ count: Int, _: Int) {
        let measurement = Measurement(count)
        let source = addSource(to: measurement.loop) {}
        let start = now()
        for _ in 0..<count {
            measurement.loop.performWithoutWaking { measurement.goesOn() }
            measurement.loop.wakeUp()
        }
        measurement.loop.run(for: .seconds(10_000_000_000))
        measurement.finish("waiting", time: now() - start)
        source.invalidate()
    }

    /// Blocks each of which posts the next.
    static func own(_ count: Int, _: Int) {
        let measurement = Measurement(count)
        let source = addSource(to: measurement.loop) {}
        postNext(measurement)
        measurement.runAndReport("own-block")
        source.invalidate()
    }

    private static func postNext(_ measurement: Measurement) {
        measurement.loop.performWithoutWaking {
            if measurement.goesOn() { postNext(measurement) }
        }
        measurement.loop.wakeUp()
    }
}
