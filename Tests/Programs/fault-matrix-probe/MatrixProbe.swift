import CrashCapture
import Dispatch
import FaultInjection
import Glibc
import Holdfast
import SystemPackage

/// A host with one fault to be committed.
@MainActor
final class MatrixProbe {
    let host: EventHost
    private let cause: Cause
    private let place: Place
    private let site: Site
    private let setting: Setting
    private var driver: Driver?
    private var second: HostRunLoop.LoopThread?

    init(_ cause: Cause, _ place: Place, _ site: Site, _ setting: Setting, store: FilePath) throws {
        self.cause = cause
        self.place = place
        self.site = site
        self.setting = setting
        var configuration = EventHost.Configuration.conservative
        // What is looked at is not how long a verdict takes on a busy machine; a lock that is waited for is not let go in this time.
        configuration.advanced.verdictDeadline = .seconds(10)
        configuration.store = store.string
        // Reports are counted, and a busy machine makes stalls.
        configuration.stallPolicy = nil
        configuration.recoveryPolicy = setting == .usual ? .default : .allMemoryFaults
        configuration.afterResume = setting == .whenQuiet ? .restartWhenQuiet : .keepServing
        // Small, so that an overflow of it takes no time.
        configuration.advanced.calloutStackSize = 256 << 10
        configuration.advanced.taskStackSize = 256 << 10
        // Every cause, and every place: to name the calls of all threads in every case would double the time.
        configuration.advanced.capturesThreads = place == .block || cause == .fault(.nilUnwrap)
        host = try EventHost(configuration)
        // A fault before that, under a lock of the heap or the loader, has its verdict by the deadline (EarlyFaultTests).
        CrashCapture.awaitCrashThread()
    }

    func run() throws {
        guard host.restarts == 0 else {
            say("restarted \(host.restarts)")
            host.close()
            return
        }
        host.onRestart { say("handing over") }
        if place.isInBoundary { try host.runTasks() }
        switch place {
        case .beforeRun: commit()
        case .afterRun, .afterClose:
            host.loop.performWithoutWaking { self.host.stop() }
            host.run()
            if place == .afterClose { host.close() }
            commit()
        // Once the main loop is served: only then somebody hands over.
        case .threadBody, .channelHandler: host.loop.performWithoutWaking { self.startThread() }
        default:
            if site == .main {
                try startDriver()
            } else {
                host.loop.performWithoutWaking { do { try self.startDriver() } catch { fatalError("\(error)") } }
            }
        }
        host.run()
        say("resumed \(host.statistics.resumedFaults)")
        host.close()
    }

    private func commit() {
        say("reached")
        cause.commit()
        say("returned")
    }

    private func startThread() {
        let commit: @Sendable () -> Void = { [cause] in
            say("reached")
            cause.commit()
            say("returned")
        }
        switch site {
        case .dispatch: DispatchQueue.global().async(execute: commit)
        case .pool: Task.detached { commit() }
        case .eventLoop:
            #if NIO
            do { try EventLoop.serve(commit) } catch { say("error \(error)") }
            #endif
        default: try? PlainThread.start(commit)
        }
    }

    private func startDriver() throws {
        if site == .second { second = try HostRunLoop.LoopThread(name: "second loop") }
        let loop = second?.loop ?? host.loop
        loop.calloutStackSize = 256 << 10
        let driver = Driver(cause, on: loop, main: host.loop, handsOver: setting == .whenQuiet)
        self.driver = driver
        driver.tellsOfFaults = place != .faultHandler
        // In a drain the process goes on until requests under way have been answered, and ends then.
        if driver.tellsOfFaults { host.onFault { [host] _ in if !host.isDraining { driver.notices.signal() } } }
        driver.trigger = try Trigger(place, on: loop, of: host) { driver.callout() }
        let end: @Sendable () -> Void = { [host] in MainActor.assumeIsolated { host.stop() } }
        let main = host.loop
        try PlainThread.start {
            driver.drive()
            if !driver.handsOver { main.perform(label: "end", end) }
        }
    }
}
