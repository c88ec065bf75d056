internal import RunLoops

/// A task on a loop's thread that waits for a value: one at a time.
///
/// One that is cancelled meanwhile wakes at once. Its state is the loop's thread's: a cancellation, which comes from any thread, is
/// performed there, and only if that wait has not ended.
final class Waiter<Value: Sendable>: @unchecked Sendable {
    private var continuation: CheckedContinuation<Value, Never>?
    private var number = 0

    /// Whether a task waits.
    var isWaiting: Bool { continuation != nil }

    /// Waits for a value.
    ///
    /// - Parameters:
    ///   - loop: The loop on whose thread the task is.
    ///   - cancelled: What a task gets that is cancelled.
    ///   - changed: Called on the loop's thread when the task begins to wait, and when it gives up.
    /// - Returns: The value.
    nonisolated(nonsending) func wait(
        on loop: HostRunLoop,
        cancelled: Value,
        changed: @escaping @Sendable () -> Void
    ) async -> Value {
        number += 1
        let number = number
        return await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                self.continuation = continuation
                changed()
            }
        } onCancel: {
            loop.perform(label: "cancelled task") { [self] in
                guard self.number == number, resume(cancelled) else { return }
                changed()
            }
        }
    }

    /// Gives the task that waits its value; false where none waits.
    @discardableResult
    func resume(_ value: Value) -> Bool {
        guard let continuation else { return false }
        self.continuation = nil
        continuation.resume(returning: value)
        return true
    }
}
