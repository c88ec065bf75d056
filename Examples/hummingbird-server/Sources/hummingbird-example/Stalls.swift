import Dispatch
import Glibc
import Holdfast
import HoldfastNIO
import Hummingbird
import NIOCore
import NIOPosix

/// Routes that keep a thread from everybody else for some milliseconds.
func addStalls(to router: Router<ExampleContext>) {
    let stalls = router.group("stall")
    stalls.get("sleep/:milliseconds") { _, context in dawdle(try milliseconds(context)) }
    stalls.get("read/:milliseconds") { _, context in readSlowly(try milliseconds(context)) }
    stalls.get("semaphore/:milliseconds") { _, context in waitForSignal(try milliseconds(context)) }
    stalls.get("actor/:milliseconds") { _, context in await Ledger.shared.sum(try milliseconds(context)) }
    stalls.get("loop/:milliseconds") { _, context in
        let time = try milliseconds(context)
        return try await context.channel.eventLoop.submit { calculate(time) }.get()
    }
}

extension EventHost {
    /// Watches what other requests wait for: the event loops, and an actor.
    func watchServer() throws {
        for (number, loop) in MultiThreadedEventLoopGroup.singleton.makeIterator().enumerated() {
            try watch(loop, label: "event loop \(number + 1)", every: .milliseconds(20))
        }
        try watch(Ledger.shared, label: "ledger", every: .milliseconds(20))
    }
}

private func milliseconds(_ context: ExampleContext) throws -> Int {
    try context.parameters.require("milliseconds", as: Int.self)
}

@inline(never)
private func dawdle(_ milliseconds: Int) -> String {
    let end = ContinuousClock.now.advanced(by: .milliseconds(milliseconds))
    // A look at the thread interrupts the call.
    while ContinuousClock.now < end { usleep(UInt32(milliseconds) * 1000) }
    return "awake\n"
}

@inline(never)
private func readSlowly(_ milliseconds: Int) -> String {
    var ends: (CInt, CInt) = (0, 0)
    guard withUnsafeMutablePointer(to: &ends, { $0.withMemoryRebound(to: CInt.self, capacity: 2, pipe) }) == 0 else {
        return "no pipe\n"
    }
    let (reader, writer) = ends
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { close(writer) }
    var byte: UInt8 = 0
    while read(reader, &byte, 1) < 0, errno == EINTR {}
    close(reader)
    return "read\n"
}

@inline(never)
private func waitForSignal(_ milliseconds: Int) -> String {
    let semaphore = DispatchSemaphore(value: 0)
    DispatchQueue.global().asyncAfter(deadline: .now() + .milliseconds(milliseconds)) { semaphore.signal() }
    return wait(for: semaphore)
}

/// What the compiler refuses in an asynchronous function, and does not see here.
@inline(never)
private func wait(for semaphore: DispatchSemaphore) -> String {
    semaphore.wait()
    return "signalled\n"
}

@inline(never)
private func calculate(_ milliseconds: Int) -> String {
    let end = ContinuousClock.now.advanced(by: .milliseconds(milliseconds))
    var turns = 0
    while ContinuousClock.now < end { turns &+= 1 }
    return turns > 0 ? "calculated\n" : "no time\n"
}

/// Keeps everybody waiting who asks it.
private actor Ledger {
    static let shared = Ledger()

    @inline(never)
    func sum(_ milliseconds: Int) -> String { calculate(milliseconds) }
}
