internal import CrashCapture
internal import CrashReports
internal import Symbolication
internal import Synchronization

/// Asks `LockFrames` on behalf of the crash thread, as soon as the images of the process are known.
@safe
final class LockInspector: Sendable {
    /// The report writer's thread reads the files beforehand, the crash thread asks.
    ///
    /// The crash thread waits for it at most until its deadline.
    private let lock = Mutex(())
    /// Protected by `lock`.
    private nonisolated(unsafe) var frames: LockFrames?

    /// Names the executable, whose functions are asked for: frames of libraries speak against resuming whatever they are.
    ///
    /// Before the first callout runs. Without an executable nothing is known, and nothing is cleared.
    func attach(_ capture: CrashCapture) {
        guard let addresses = capture.executableAddresses, let path = CrashCapture.executableFile else { return }
        let image = SymbolImage(
            path: path,
            base: addresses.lowerBound,
            end: addresses.upperBound,
            buildID: capture.executableBuildID.map(HexDigits.text)
        )
        let frames = LockFrames(executable: image)
        lock.withLock { _ in unsafe self.frames = frames }
    }

    /// Reads the executable's tables now, so that the first fault does not wait for it.
    func warmUp() {
        lock.withLock { _ in unsafe frames?.warmUp() }
    }

    /// Whether one of the program counters, innermost first, is in a function that may hold a lock nobody counts.
    ///
    /// On the crash thread.
    func holdsLock(_ programCounters: UnsafeBufferPointer<UInt64>) -> Bool {
        lock.withLock { _ in
            // Nothing is known: then nothing is cleared.
            guard let frames = unsafe frames else { return true }
            return unsafe frames.contain(programCounters)
        }
    }
}
