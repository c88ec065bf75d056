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
    public final class CommandSource<Command: Sendable>: Sendable {
        /// What came of sending a command.
        public enum SendResult: Sendable, Hashable {
            /// It waits for a loop, and all loops that have the source were woken.
            case queued
            /// As many commands as the capacity allows wait already: this one was not taken.
            case full
            /// The source was invalidated: the command was not taken.
            case invalidated
        }

        let source: Source
        private let buffer: CommandBuffer<Command>

        /// Makes a command source that is in no loop yet.
        ///
        /// - Parameters:
        ///   - label: What a crash report calls it.
        ///   - order: Its place among sources that are signalled together.
        ///   - capacity: How many commands may wait; `nil` for as many as there is memory for.
        ///   - handler: Called with each command, on the thread of a loop that has the source.
        public init(
            label: String,
            order: Int = 0,
            capacity: Int? = nil,
            handler: @escaping @Sendable (Command) -> Void
        ) {
            let buffer = CommandBuffer<Command>(capacity: capacity.map { max(0, $0) } ?? .max)
            let drain = Drain(buffer: buffer, handler: handler)
            source = Source(
                label: label,
                order: order,
                schedule: { loop, _ in
                    buffer.didEnter(loop)
                    // What was sent before this found no loop to wake.
                    if buffer.count > 0 {
                        loop.wakeUp()
                    }
                },
                cancel: { loop, _ in buffer.didLeave(loop) },
                perform: { drain.run() }
            )
            self.buffer = buffer
            drain.source = source
        }

        /// The identity of the item, unique in the process: what `AbandonedCallout.item` names.
        public var identifier: UInt64 { source.identifier }

        /// What a crash report calls it.
        public var label: String { source.label }

        /// Whether it was not invalidated.
        public var isValid: Bool { source.isValid }

        /// How many commands wait.
        public var count: Int { buffer.count }

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
                source.signal()
                for loop in loops {
                    loop.noteWorkOfNestedRun()
                    loop.wakeUp()
                }
                return .queued
            }
        }

        /// Ends its life: it leaves every mode of every loop and takes no more commands.
        ///
        /// - Returns: The commands that nobody will handle, in the order in which they were sent.
        @discardableResult
        public func invalidate() -> [Command] {
            source.invalidate()
            return buffer.close()
        }

        /// What the source does when it is performed.
        private final class Drain: @unchecked Sendable {
            private let buffer: CommandBuffer<Command>
            private let handler: @Sendable (Command) -> Void
            /// Set once, before anybody can signal it; weak, because it holds this.
            weak var source: Source?

            init(buffer: CommandBuffer<Command>, handler: @escaping @Sendable (Command) -> Void) {
                self.buffer = buffer
                self.handler = handler
            }

            func run() {
                guard let source else { return }
                var left = buffer.count
                while left > 0, let (command, isLast) = buffer.takeFirst() {
                    left -= 1
                    // Beforehand: when the handler faults, nobody comes back here.
                    if !isLast {
                        source.signal()
                    }
                    handler(command)
                }
                // A signal without a command would cost a pass. Taken first, then looked: whoever sends meanwhile signals.
                guard buffer.count == 0 else { return }
                _ = source.takeSignal()
                if buffer.count > 0 {
                    source.signal()
                }
            }
        }
    }

    /// Adds a command source to a mode.
    ///
    /// Callable from any thread; wakes the loop if commands wait.
    ///
    /// - Parameters:
    ///   - source: The source; nothing happens if it is invalid or in the mode already.
    ///   - mode: The mode, which is made if it is new, or `.common`.
    /// - Returns: Whether it was added, or why not.
    @discardableResult
    public func add<Command>(_ source: CommandSource<Command>, to mode: Mode = .default) -> AddResult {
        add(source.source, to: mode)
    }

    /// Removes a command source from a mode; its commands wait until it is in a loop again.
    ///
    /// Callable from any thread.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - mode: The mode, or `.common` for all common modes if it was added to those.
    public func remove<Command>(_ source: CommandSource<Command>, from mode: Mode = .default) {
        remove(source.source, from: mode)
    }

    /// Says whether a command source is in a mode.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - mode: The mode, or `.common` to ask whether it was added to the common modes.
    /// - Returns: Whether it is there.
    public func contains<Command>(_ source: CommandSource<Command>, in mode: Mode = .default) -> Bool {
        contains(source.source, in: mode)
    }
}
