import FaultInjection
import Holdfast
import Synchronization

/// Fault boundaries in a program that calls `run()`.
@MainActor
enum BoundaryScenarios {
    /// Three tasks, of which the second faults; with the argument `tasks` on the pool from the start.
    static func run(_ host: EventHost, _ arguments: [String]) throws {
        let told = Mutex<[String?]>([])
        host.onFault { fault in
            told.withLock { $0.append(fault.report.map { "\($0)" }) }
            Probe.say("in a boundary \(fault.isInBoundary), \(fault.label ?? "none"), \(fault.report != nil)")
            host.stop()
        }
        if arguments.contains("tasks") { try host.runTasks() }
        let fault = Task {
            var fault: FaultError?
            for number in 1...3 {
                do {
                    let answer = try await withFaultBoundary("job") {
                        await Task.yield()
                        if number == 2 { Fault.fatalError.commit() }
                        return number
                    }
                    Probe.say("answer \(answer)")
                } catch let error as FaultError {
                    Probe.say("\(error.boundary) \(error.number) \(error.report != nil)")
                    fault = error
                } catch {
                    Probe.say("\(error)")
                }
            }
            return fault
        }
        host.run()
        host.perform {
            Task {
                let report = await fault.value?.report.map { "\($0)" }
                Probe.say("the same report \(told.withLock { $0 } == [report])")
                host.stop()
            }
        }
        host.run()
        host.close()
    }
}
