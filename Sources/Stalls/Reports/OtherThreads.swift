internal import CrashCapture
internal import CrashReports
internal import LinuxSystem
internal import SystemPackage

/// Lists the threads of the process for the report of a stall.
enum OtherThreads {
    /// The maximum number of threads to look at.
    static let most = 64
    /// The maximum time for looking at them.
    static let patience = Duration.milliseconds(500)

    /// The thread numbers in ascending order.
    ///
    /// - Parameter left: The threads to leave out.
    /// - Returns: Empty if the threads cannot be listed.
    static func list(but left: Set<CInt>) -> [CInt] {
        guard let folder = try? FileDirectory(at: "/proc/self/task"), let names = try? folder.names() else { return [] }
        return names.compactMap { CInt($0) }.filter { !left.contains($0) }.sorted()
    }
}

extension ThreadSnapshot.Thread {
    /// Converts a look at a thread.
    ///
    /// - Parameters:
    ///   - look: What was seen.
    ///   - time: How long the stall had lasted by then.
    init(_ look: ThreadLook, after time: Duration) {
        self.init(id: Int(look.thread))
        name = look.name
        outcome = look.isWalkComplete ? .walked : look.frames.isEmpty ? .silent : .broken
        kernelState = look.state?.unicodeScalars.first
        systemCall = look.systemCall
        sampledAfter = time / .seconds(1)
        (frames, headFrameCount, framesOmitted) = (look.frames, look.headFrameCount, look.framesOmitted)
        (awaits, awaitPosition) = (look.awaits, look.awaitPosition)
    }
}

extension CrashReport.LoopState {
    /// Converts what a look saw of a loop's callout.
    init?(_ callout: ThreadLook.Callout) {
        self.init(
            calloutKind: callout.kind,
            activity: callout.activity,
            mode: callout.mode,
            label: callout.label,
            item: callout.item,
            nesting: callout.nesting,
            pass: callout.pass
        )
    }
}
