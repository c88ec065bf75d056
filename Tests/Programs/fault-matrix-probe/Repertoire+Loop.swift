import Dispatch
import Glibc
import Holdfast
import Synchronization
import SystemPackage

/// What the loop itself does.
extension Repertoire {
    func checkItems() {
        check("source") {
            happens { done in
                let source = HostRunLoop.Source(label: "check") { _ in done() }
                loop.add(source, to: .common)
                source.signal()
                loop.wakeUp()
            }
        }
        check("port") {
            guard let pipe = try? BytePipe() else { return false }
            return happens { done in
                let port = HostRunLoop.PortSource(label: "check", descriptor: FileDescriptor(rawValue: pipe.reader)) {
                    _,
                    _ in
                    pipe.take()
                    done()
                }
                _ = try? loop.add(port, to: .common)
                pipe.put()
            }
        }
        check("timer that fires once") {
            happens { done in
                loop.add(HostRunLoop.Timer(label: "check", after: .milliseconds(1)) { _ in done() }, to: .common)
            }
        }
        check("timer that repeats") {
            let count = Atomic<Int>(0)
            return happens { done in
                let interval: Duration = .milliseconds(1)
                let timer = HostRunLoop.Timer(label: "check", after: interval, repeating: interval) { timer in
                    guard count.add(1, ordering: .relaxed).newValue == 3 else { return }
                    timer.invalidate()
                    done()
                }
                loop.add(timer, to: .common)
            }
        }
        check("observer of every activity") { observersAreCalled() }
        check("block") {
            happens { done in
                loop.performWithoutWaking(in: .common, label: "check", done)
                loop.wakeUp()
            }
        }
        check("performs in order") {
            let order = Mutex<[Int]>([])
            return happens(3) { done in
                for number in 1...3 {
                    loop.perform(label: "check") {
                        order.withLock { $0.append(number) }
                        done()
                    }
                }
            } && order.withLock { $0 } == [1, 2, 3]
        }
        check("delayed perform") {
            happens { done in loop.perform(after: .milliseconds(1), in: [.common], label: "check", done) }
        }
    }

    private func observersAreCalled() -> Bool {
        let activities: [HostRunLoop.Activity] = [
            .entry, .beforeTimers, .beforeSources, .beforeWaiting, .afterWaiting, .exit,
        ]
        return activities.allSatisfy { activity in
            let isCalled = Atomic<Bool>(false)
            let observer = HostRunLoop.Observer(label: "check", activities: activity, repeats: false) { _, _ in
                isCalled.store(true, ordering: .releasing)
            }
            loop.add(observer, to: .common)
            let end = HostRunLoop.Instant.now.advanced(by: Driver.patience)
            while !isCalled.load(ordering: .acquiring) {
                guard .now < end else { return false }
                // The thread begins another run after one that was stopped. More than once: the host's sweep does not sleep.
                if activity == .entry || activity == .exit { loop.stop() } else { loop.wakeUp() }
                usleep(500)
            }
            return true
        }
    }

    func checkMessages() {
        check("message port") {
            happens { done in
                let port = try? HostRunLoop.MessagePort(label: "check") { message in
                    if message.type == 7 { done() }
                }
                guard let port else { return }
                _ = try? loop.add(port, to: .common)
                _ = try? port.sendRight.send(HostRunLoop.Message(type: 7), within: .seconds(1))
            }
        }
    }

    func checkRuns() {
        check("mode and nesting") {
            let seen = try? loop.performAndWait(within: Driver.patience) { [loop] in
                loop.currentMode == .default && loop.nesting == 1
            }
            return seen == true
        }
        check("nested run in another mode") {
            let mode: HostRunLoop.Mode = "check"
            let seen = try? loop.performAndWait(within: Driver.patience) { [loop] in
                let inside = Mutex(false)
                loop.performWithoutWaking(in: mode, label: "check") {
                    inside.withLock { $0 = loop.currentMode == mode && loop.nesting == 2 }
                }
                loop.run(in: mode, for: .zero)
                return inside.withLock { $0 } && loop.currentMode == .default && loop.nesting == 1
            }
            return seen == true
        }
        check("sleep and wake-up") {
            let end = HostRunLoop.Instant.now.advanced(by: Driver.patience)
            while !loop.isWaiting {
                guard .now < end else { return false }
                sched_yield()
            }
            let passes = loop.passCount
            while loop.passCount == passes {
                guard .now < end else { return false }
                loop.wakeUp()
                sched_yield()
            }
            return true
        }
    }

    func checkOtherQueues() {
        if isMain {
            check("main dispatch queue") { happens { done in DispatchQueue.main.async(execute: done) } }
            check("main actor") { happens { done in Task { @MainActor in done() } } }
        } else {
            check("task") { happens { [loop] done in Task(executorPreference: loop) { done() } } }
        }
    }
}
