import Synchronization
import Testing

@testable import TaskBoundaries

extension FaultBoundary {
    /// Runs a body, and returns what it returns.
    func run<Value: Sendable>(_ body: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let place = Place<Value>()
        try await run {
            let value = try await body()
            place.value.withLock { $0 = value }
        }
        return try #require(place.value.withLock { $0 })
    }
}

private final class Place<Value: Sendable>: Sendable {
    let value = Mutex<Value?>(nil)
}
