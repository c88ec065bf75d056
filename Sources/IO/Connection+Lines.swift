extension Connection {
    /// The lines that come, for a task on the thread of the connection's loop, such as one of the main actor.
    ///
    /// Nothing is read while no task asks for a line. One task at a time.
    public var lines: Lines { Lines(connection: self) }

    /// The lines of a connection: ends when the peer sends no more, throws `Ending` when the connection fails.
    public struct Lines: AsyncSequence {
        let connection: Connection

        /// Begins with the next line.
        public func makeAsyncIterator() -> Iterator { Iterator(connection: connection) }

        /// Takes one line after the other.
        public struct Iterator: AsyncIteratorProtocol {
            let connection: Connection

            /// Waits for the next line.
            ///
            /// - Parameter actor: Whose task it is: one on the thread of the connection's loop.
            /// - Returns: The line, without its end; `nil` when there is none any more, or when the task is cancelled.
            /// - Throws: `Ending`.
            public mutating func next(
                isolation actor: isolated (any Actor)? = #isolation
            ) async throws(Ending) -> String? {
                try await connection.nextLine()
            }
        }
    }
}
