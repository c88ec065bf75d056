import FaultInjection
import Glibc
import Holdfast

/// Spool files that somebody cuts while their process lives.
@MainActor
enum CutSpoolScenarios {
    /// What is cut to: `0` or another size; what happens then: `goes-on`, `at-once`, `next`, `restart` or `closed`.
    static func run(_ store: String, _ arguments: [String]) throws {
        let host = try HostScenario.host(store)
        guard host.restarts == 0 else {
            host.flushReports(within: .seconds(10))
            Probe.say("restarted \(host.restarts)")
            return host.close()
        }
        let size = off_t(arguments[0]) ?? 0
        let kind = arguments[1]
        host.perform {
            let path = spool(in: store)
            if kind == "closed" { close(descriptor(of: path)) }
            truncate(path, size)
            if kind == "at-once" || kind == "closed" { Fault.nilUnwrap.commit() }
            if kind == "restart" { Fault.wildPointer.commit() }
        }
        if kind == "next" {
            host.perform { Fault.nilUnwrap.commit() }
        }
        host.perform {
            let isFlushed = host.flushReports(within: .seconds(20))
            Probe.say("resumed \(host.statistics.resumedFaults) flushed \(isFlushed)")
            host.stop()
        }
        host.run()
        host.close()
    }

    /// The file of this process: there is no other in its store.
    private static func spool(in store: String) -> String {
        let folder = store + "/spool"
        let name = StartScenarios.names(in: folder).first { $0.hasSuffix(".spool") } ?? ""
        return folder + "/" + name
    }

    /// Which descriptor a file has.
    private static func descriptor(of path: String) -> CInt {
        var wanted = stat()
        stat(path, &wanted)
        for descriptor in CInt(3)..<1024 {
            var found = stat()
            if fstat(descriptor, &found) == 0, found.st_ino == wanted.st_ino, found.st_dev == wanted.st_dev {
                return descriptor
            }
        }
        return -1
    }
}
