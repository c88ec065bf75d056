extension HostRunLoop {
    /// An input source whose work is a queue of commands that any thread fills.
    ///
    /// It may be in many modes of many loops; a command is handled once, by the loop that gets to it first. One callout
    /// handles all commands that wait when it begins; those that come meanwhile are for the next pass, so that a busy sender
    /// does not keep the loop from its other items. A fault in the handler costs the command that faulted: the others are
    /// handled in the next pass. In one loop commands are handled in the order in which they were sent; a run that is nested
    /// in the handler goes on with the next ones.
    ///
    /// Dropping the last reference leaves what was sent to the loops. Callable from any thread.
    public final class CommandSource<Command: Sendable>: Source, @unchecked Sendable {
        /// What came of sending a command.
        public enum SendResult: Sendable, Hashable {
            /// It waits for a loop, and all loops that have the source were woken.
            case queued
            /// As many commands as the capacity allows wait already: this one was not taken.
            case full
            /// The source was invalidated: the command was not taken.
            case invalidated
        }

        private let buffer: CommandBuffer<Command>
        private let handler: @Sendable (CommandSource<Command>, Command) -> Void

        /// Makes a command source that is in no loop yet.
        ///
        /// - Parameters:
        ///   - label: What a crash report calls it.
        ///   - order: Its place among sources that are signalled together.
        ///   - capacity: How many commands may wait, at least 1; `nil` for as many as there is memory for.
        ///   - handler: Called with the source and each command, on the thread of a loop that has the source.
        public init(
            label: String,
            order: Int = 0,
            capacity: Int? = nil,
            @_inheritActorContext handler: @escaping @Sendable @isolated(any) (CommandSource<Command>, Command) -> Void
        ) {
            if let capacity, capacity < 1 { fatalError("a command source needs room for at least one command") }
            let buffer = CommandBuffer<Command>(capacity: capacity ?? .max)
            self.buffer = buffer
            self.handler = Plain.command(handler)
            super.init(
                label,
                order,
                { loop, _ in
                    buffer.didEnter(loop)
                    // What was sent before this found no loop to wake.
                    if buffer.count > 0 {
                        loop.wakeUp()
                    }
                },
                { loop, _ in buffer.didLeave(loop) },
                handler.isolation,
                { _ in }
            )
        }

        /// How many commands wait.
        package var count: Int { buffer.count }

        /// Puts a command behind all others and wakes every loop that has the source.
        ///
        /// While no loop has it, commands wait for the first one.
        ///
        /// - Parameter command: The command.
        /// - Returns: Whether it was taken, or why not.
        @discardableResult
        public func send(_ command: Command) -> SendResult {
            switch buffer.append(command) {
            case .full: return .full
            case .closed: return .invalidated
            case .queued(let loops):
                signal()
                for loop in loops {
                    loop.noteWorkOfNestedRun()
                    loop.wakeUp()
                }
                return .queued
            }
        }

        override func end() { _ = close() }

        /// Ends its life: it leaves every mode of every loop and takes no more commands.
        ///
        /// - Returns: The commands that nobody will handle, in the order in which they were sent.
        package func close() -> [Command] {
            super.end()
            return buffer.close()
        }

        override func performNow() {
            var left = buffer.count
            while left > 0, let (command, isLast) = buffer.takeFirst() {
                left -= 1
                // Beforehand: when the handler faults, nobody comes back here.
                if !isLast {
                    signal()
                }
                handler(self, command)
            }
            // A signal without a command would cost a pass. Taken first, then looked: whoever sends meanwhile signals.
            guard buffer.count == 0 else { return }
            _ = takeSignal()
            if buffer.count > 0 {
                signal()
            }
        }
    }
}
