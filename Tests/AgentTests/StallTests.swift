import FaultInjection
import TestSupport
import Testing

/// An agent whose callouts take their time.
@Suite(.timeLimit(.minutes(10))) struct StallTests {
    @Test(arguments: InjectedStall.allCases)
    func `A stall is noticed while it lasts, and the client is answered`(stall: InjectedStall) throws {
        let agent = try AgentProcess(["--stall-threshold", "500"])
        let client = try agent.connect()
        #expect(try client.ask("STALL \(stall.rawValue) 4000") == "OK")
        // A machine that keeps the agent waiting may make another one.
        #expect(try client.statistics().stalls >= 1)
        try agent.stop()
        let errors = agent.process.errors
        #expect(errors.contains("the loop stalls") && errors.contains("item=client"), "\(errors)")
        let activities =
            switch stall {
            case .busy: ["running"]
            case .sleep: ["sleeping in clock_nanosleep"]
            case .lock: ["sleeping in futex"]
            // Before it reads, it waits for the thread that is to write.
            case .read: ["sleeping in read", "sleeping in futex"]
            }
        #expect(activities.contains { errors.contains("thread=\($0)") }, "\(errors)")
    }

    @Test func `What is shorter than the threshold is no stall`() throws {
        let agent = try AgentProcess()
        let client = try agent.connect()
        #expect(try client.ask("STALL busy 0") == "OK")
        #expect(try client.ask("STALL sleep 100") == "OK")
        #expect(try client.statistics().stalls == 0)
        try agent.stop()
        #expect(!agent.process.errors.contains("stalls"))
    }

    @Test func `Ticks are told at the end, and the one that was held up at once`() throws {
        let agent = try AgentProcess(["--tick", "5"])
        let client = try agent.connect()
        #expect(try client.ask("STALL sleep 300") == "OK")
        // Behind the tick that was due meanwhile.
        #expect(try client.ask("PING") == "PONG")
        _ = try FolderWatch.wait(at: agent.process.errorPath, for: "the tick that was held up") {
            agent.process.errors.contains("a tick was held up") ? true : nil
        }
        try agent.stop()
        let errors = agent.process.errors
        #expect(errors.contains("hitchRatio"))
    }

    @Test(arguments: [["--stall-threshold", "0"], ["--tick", "86400001"]])
    func `A time that is none is refused`(arguments: [String]) throws {
        let run = try ProgramRun.run(BuiltProduct.path(of: "holdfast-agent"), arguments)
        #expect(run.end == .exited(64) && run.errors.contains("milliseconds from 1 to 86400000"))
    }
}
