extension Listener {
    /// The connections that come, for a task on the thread of the listener's loop, such as one of the main actor.
    ///
    /// None is accepted while no task asks for one. One task at a time.
    public var connections: Connections { Connections(listener: self) }

    /// The connections of a listener: ends when it is closed.
    public struct Connections: AsyncSequence {
        let listener: Listener

        /// Begins with the next connection.
        public func makeAsyncIterator() -> Iterator { Iterator(listener: listener) }

        /// Takes one connection after the other.
        public struct Iterator: AsyncIteratorProtocol {
            let listener: Listener

            /// Waits for the next connection.
            ///
            /// - Parameter actor: Whose task it is: one on the thread of the listener's loop.
            /// - Returns: The connection; `nil` when the listener was closed, or the task is cancelled.
            public mutating func next(isolation actor: isolated (any Actor)? = #isolation) async -> Connection? {
                await listener.nextConnection()
            }
        }
    }
}
