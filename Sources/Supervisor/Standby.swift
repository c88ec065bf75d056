internal import CLinuxShims
internal import CRecordLayout
internal import Glibc
internal import LinuxSystem
internal import RunLoops

/// The place of a process that stands by: what it shares with the one that serves, and when there is one.
///
/// The process that serves may release it, from its fault handler; if it could not, the supervisor does when that process has ended.
@MainActor
@safe
final class StandbyPlace {
    /// The descriptors of the page and of the event that is waited for.
    let page: CInt
    let event: CInt
    /// Which process stands by, or did last.
    private(set) var serial: UInt32 = 0
    private nonisolated(unsafe) let mapped: UnsafeMutablePointer<HFStandbyPage>

    /// Makes a place; nil if the kernel has no room.
    init?() {
        let page = hf_shared_page_make()
        guard page >= 0, let mapped = unsafe hf_shared_page_map(page) else { return nil }
        let event = eventfd(0, CInt(EFD_CLOEXEC) | CInt(EFD_NONBLOCK))
        guard event >= 0 else { return nil }
        self.page = page
        self.event = event
        unsafe self.mapped = mapped.assumingMemoryBound(to: HFStandbyPage.self)
        unsafe self.mapped.pointee.magic = HF_STANDBY_MAGIC
    }

    deinit {
        unsafe hf_shared_page_unmap(mapped)
        _ = close(page)
        _ = close(event)
    }

    /// Whether the process that stood by was told to serve.
    var isReleased: Bool { unsafe hf_standby_state(hf_standby_word(mapped)) == UInt32(HF_STANDBY_RELEASED) }

    /// Has nobody tell the process that stands by to serve.
    ///
    /// - Returns: False if somebody has.
    func withdraw() -> Bool { unsafe hf_standby_withdraw(mapped) }

    /// Nobody stands by.
    func clear() {
        unsafe hf_standby_set(mapped, serial, UInt32(HF_STANDBY_NONE))
        EventDescriptor.clear(event)
    }

    /// A process stands by, again or another one.
    func noteReady() {
        // 30 bits, and never 0.
        serial = serial % (1 << 30 - 1) + 1
        unsafe hf_standby_set(mapped, serial, UInt32(HF_STANDBY_READY))
    }

    /// Tells the process that stands by to serve, also if somebody has before: an event more does no harm.
    func release() {
        unsafe hf_standby_set(mapped, serial, UInt32(HF_STANDBY_RELEASED))
        var one: UInt64 = 1
        _ = unsafe write(event, &one, MemoryLayout<UInt64>.size)
    }
}
