import Glibc
import Testing

@testable import ProcessSupervisor

@Suite struct PlanTests {
    @Test(arguments: [
        ("tcp:127.0.0.1:80", ListenAddress.tcp(host: "127.0.0.1", port: 80)),
        ("tcp:[::1]:8080", .tcp(host: "::1", port: 8080)), ("tcp:8080", .tcp(host: "::", port: 8080)),
        ("tcp:*:1", .tcp(host: "::", port: 1)), ("unix:/run/a.sock", .unix(path: "/run/a.sock")),
    ])
    func `An address is read, and said as it can be read again`(text: String, address: ListenAddress) throws {
        #expect(try ListenAddress(text) == address)
        #expect(try ListenAddress("\(address)") == address)
    }

    @Test(arguments: [
        ("127.0.0.1:80", "is no address"), ("tcp:", "no port"), ("tcp:0", "no port"), ("tcp:65536", "no port"),
        ("tcp:localhost:80", "names are not looked up"), ("tcp:1.2.3:80", "not an address in numbers"),
        ("unix:run/a", "absolute path"), ("unix:/" + String(repeating: "a", count: 107), "107 bytes"),
        ("", "is no address"),
    ])
    func `What is no address is refused with what would be one`(text: String, part: String) {
        let error = #expect(throws: ListenAddress.Malformed.self) { try ListenAddress(text) }
        #expect(error?.description.contains(part) == true)
    }

    @Test(arguments: [
        ("10s", Duration.seconds(10)), ("500ms", .milliseconds(500)), ("2min", .seconds(120)), ("2m", .seconds(120)),
        ("1h", .seconds(3600)), ("1.5", .milliseconds(1500)), ("0", .zero), ("250us", .microseconds(250)),
    ])
    func `A time is read`(text: String, time: Duration) { #expect(Duration(readingTime: text) == time) }

    @Test(arguments: ["", "s", "-1s", "1d", "nan", "inf", "1e12", "10 s", "0x", "ten"])
    func `What is no time is none`(text: String) { #expect(Duration(readingTime: text) == nil) }

    @Test func `Statuses, ranges and signals are successes`() {
        let expected: Set<ProcessEnd> = [.exited(2), .exited(5), .exited(6), .exited(7), .signalled(SIGTERM)]
        #expect(SuccessList.read("2,5-7,SIGTERM") == expected)
        #expect(SuccessList.read("term") == [.signalled(SIGTERM)])
    }

    @Test(arguments: ["", ",", "256", "-1", "7-5", "5-", "SIGNONE", "2,,3", "1-2-3"])
    func `What is no list of successes is refused`(text: String) { #expect(SuccessList.read(text) == nil) }

    @Test func `Signals have the names of signal(7)`() {
        for number in CInt(1)...31 {
            let name = SignalName.of(number)
            #expect(name.map { SignalName.number(of: $0) } == number, "\(number)")
        }
        #expect(SignalName.number(of: "34") == 34)
        #expect(SignalName.number(of: "0") == nil)
        #expect(SignalName.number(of: "65") == nil)
    }

    @Test(arguments: [
        (Program.Restarts.never, ProcessEnd.exited(1), false), (.onFailure, .exited(0), false),
        (.onFailure, .exited(1), true),
        (.onFailure, .signalled(SIGKILL), true), (.onFailure, .exited(4), false), (.always, .exited(0), true),
    ])
    func `A policy says whether a program is started again`(policy: Program.Restarts, end: ProcessEnd, isStarted: Bool)
    {
        var program = Program(name: "a", command: ["a"])
        program.restarts = policy
        program.successes = [.exited(4)]
        #expect(program.isStarted(after: DeathFacts(status: end)) == isStarted)
        // One that hung had no success, whatever its status.
        let hung = DeathFacts(status: end, order: .watchdog(nil))
        #expect(program.isStarted(after: hung) == (policy != .never))
        #expect(!program.isSuccess(hung))
    }
}
