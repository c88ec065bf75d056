import CBenchmark
import RunLoops

/// A loop with nothing to do.
enum IdleRow {
    /// Says that it is ready and sleeps until the process is killed.
    static func stay(_ count: Int, _: Int) {
        let loop = HostRunLoop.current
        let port = addPort(make_event(false), to: loop) { check(false, "an idle descriptor was served") }
        let source = addSource(to: loop) {}
        let timer = addFarTimer(to: loop)
        say_ready()
        loop.run()
        withExtendedLifetime((port, source, timer)) {
            check(false, "an idle loop ended")
        }
    }
}
