extension HostRunLoop {
    /// An input source with a queue of commands that any thread can fill.
    ///
    /// It may be in many modes of many loops. Each command is handled once, by the first loop that gets to it. One callout handles
    /// all commands that wait when it begins. Commands that arrive meanwhile are left for the next pass, so that a busy sender does
    /// not keep the loop from its other items. A fault in the handler loses only the command that faulted: the next pass handles
    /// the others. In one loop, commands are handled in the order in which they were sent; a run that is nested in the handler
    /// continues with the next ones.
    ///
    /// Dropping the last reference does not drop the commands: the loops still handle them. Callable from any thread.
    public final class CommandSource<Command: Sendable>: Source, @unchecked Sendable {
        /// The result of sending a command.
        public enum SendResult: Sendable, Hashable {
            /// The command waits for a loop, and all loops that have the source were woken.
            case queued
            /// The command was refused: as many commands as the capacity allows are already waiting.
            case full
            /// The command was refused: the source was invalidated.
            case invalidated
        }

        private let buffer: CommandBuffer<Command>
        private let handler: @Sendable (CommandSource<Command>, Command) -> Void

        /// Makes a command source that is in no loop yet.
        ///
        /// - Parameters:
        ///   - label: The name that crash reports show for it.
        ///   - order: Its place among sources that are signalled together.
        ///   - capacity: How many commands may wait, at least 1; `nil` for no limit except memory.
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
                    // Commands sent before this found no loop to wake.
                    if buffer.count > 0 {
                        loop.wakeUp()
                    }
                },
                { loop, _ in buffer.didLeave(loop) },
                handler.isolation,
                { _ in }
            )
        }

        /// The number of waiting commands.
        package var count: Int { buffer.count }

        /// Appends a command and wakes every loop that has the source.
        ///
        /// While no loop has the source, commands wait for the first one.
        ///
        /// - Parameter command: The command.
        /// - Returns: Whether the command was queued, or why not.
        @discardableResult
        public func send(_ command: consuming Command) -> SendResult {
            let appended = buffer.append(
                command,
                signal: { signal() },
                wake: { loop in
                    loop.noteWorkOfNestedRun()
                    loop.wakeUp()
                }
            )
            return switch appended {
            case .queued: .queued
            case .full: .full
            case .closed: .invalidated
            }
        }

        override func end() { _ = close() }

        /// Invalidates it: it leaves every mode of every loop and accepts no more commands.
        ///
        /// - Returns: The commands that nobody will handle, in the order in which they were sent.
        package func close() -> [Command] {
            super.end()
            return buffer.close()
        }

        override func performNow() {
            unsafe withUnsafeTemporaryAllocation(of: Command.self, capacity: 1) { place in
                guard let place = place.baseAddress else { return }
                var (left, draws) = buffer.begin()
                while left > 0 {
                    if draws, let drawn = unsafe buffer.takeDrawn() {
                        let command = unsafe drawn.move()
                        signalForOthers()
                        left -= 1
                        handler(self, command)
                        continue
                    }
                    // Not `==`, which is a call in code for every type of command.
                    switch unsafe buffer.take(into: place, draws: draws) {
                    case .nothing: return
                    // Before the handler is called: if that faults, control does not come back here.
                    case .first: signalForOthers()
                    case .last: break
                    }
                    left -= 1
                    unsafe handler(self, place.move())
                }
            }
            // A signal without a command would cost a pass. Take the signal first and then check: a sender that is too late for the
            // check signals again.
            guard buffer.count == 0 else { return }
            _ = takeSignal()
            if buffer.count > 0 {
                signal()
            }
        }

        /// Has the commands that wait handled by whoever comes first: the next pass, a nested run, or another loop.
        private func signalForOthers() {
            guard !isSignalled else { return }
            signal()
            buffer.visitOtherLoops { $0.wakeUp() }
        }
    }
}
