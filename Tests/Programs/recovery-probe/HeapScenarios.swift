import FaultInjection
import Glibc
import Holdfast

/// Where the heap was smashed: a block that nobody could see would be optimized away, and the damage with it.
private nonisolated(unsafe) var smashed: UnsafeMutableRawPointer?

extension Probe {
    /// The heap is broken, and who notices is the runtime, while it writes its own failure's message.
    func heapUnderRuntime() {
        perform(
            {
                let message = String(repeating: "x", count: 60_000)
                Self.smashTop()
                fatalError(message)
            },
            { Probe.say("resumed with a broken heap") }
        )
        finish()
    }

    /// Overwrites the size of the heap's top chunk, which lies behind the last block that was cut from it.
    private nonisolated static func smashTop() {
        // Smaller than what gets a mapping of its own. A multiple of 16 plus 8 is usable to its last byte (malloc/malloc.c,
        // request2size): the next chunk's size follows.
        let size = 100_008
        var last: UnsafeMutableRawPointer?
        // As many as use up every free block of a young process: the last is cut from the top.
        for _ in 0..<64 { last = malloc(size) }
        guard let block = last else { return }
        smashed = block
        (block + size).storeBytes(of: UInt.max & ~0xf, as: UInt.self)
    }

    /// A child that is forked and faults ends by itself; its parent's faults are resumed as before.
    func forkedChild() {
        perform(
            {
                // The overlay hides fork(2), which a Swift program has little use for; a C library may call it all the same.
                typealias Fork = @convention(c) () -> pid_t
                let fork = unsafeBitCast(dlsym(nil, "fork"), to: Fork.self)
                let child = fork()
                if child == 0 {
                    Fault.ud2.commit()
                    _exit(0)
                }
                var status: CInt = 0
                waitpid(child, &status, 0)
                Probe.say("child ended by signal \(status & 0x7f)")
            },
            { Fault.nilUnwrap.commit() }
        )
        finish()
    }

    /// The host is stopped while a run is nested in the one at the top: both end.
    func stopInNestedRun() {
        let loop = host.loop
        perform {
            self.perform { self.host.stop() }
            loop.run(in: .default, for: .seconds(60))
            Probe.say("nested run ended")
        }
    }
}
