internal import CLinuxShims
internal import CRecordLayout
internal import CrashCapture
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import Synchronization

/// What a process has to do with another one that stands by to serve in its place: `holdfast run --standby`.
///
/// One that is to stand by has started, and waits in `run()`. It is told to serve by the process that serves, from the handler that decides that
/// it will not go on, or by the supervisor.
@MainActor
final class StandbyRole {
    /// The variable that says it: the numbers of the page and of the event, and `wait` or `serve`.
    private static let variable = "HOLDFAST_STANDBY"
    /// The variable that says whose it is: a child that the program starts inherits the other one.
    private static let ownerVariable = "HOLDFAST_STANDBY_PID"
    /// The variable that says which process serves while this one starts to take over from it.
    static let predecessorVariable = "HOLDFAST_PREDECESSOR"
    /// What every process with a host says to its supervisor, beside that it is ready.
    static let presence = "X_HOLDFAST"
    /// What a process that stands by says to its supervisor.
    static let message = "X_HOLDFAST_STANDBY"

    /// Whether it is to wait.
    private(set) var isWaiting: Bool
    /// Whether it has waited.
    private(set) var hasWaited = false
    /// Whether another process serves meanwhile.
    nonisolated static let anotherServes = Atomic<Bool>(false)
    /// Ends the wait.
    private(set) var port: HostRunLoop.PortSource?
    /// Called when the wait ends.
    var served: (@MainActor () -> Void)?
    private let page: UInt
    private let pageNumber: CInt
    private let event: CInt

    /// Finds it; nil without such a supervisor.
    ///
    /// - Parameters:
    ///   - environment: The environment that the process began with.
    ///   - kept: Keeps page and event across restarts in place.
    init?(environment: [String: String], _ kept: KeptDescriptors) {
        guard environment[Self.ownerVariable].flatMap({ CInt($0) }) == getpid(),
            let words = environment[Self.variable]?.split(separator: " "), words.count == 3,
            let pageNumber = CInt(words[0]), let event = CInt(words[1]), fcntl(event, F_GETFD) >= 0,
            let mapped = unsafe hf_shared_page_map(pageNumber),
            unsafe mapped.load(as: UInt32.self) == HF_STANDBY_MAGIC
        else { return nil }
        page = UInt(bitPattern: mapped)
        self.pageNumber = pageNumber
        self.event = event
        isWaiting = words[2] == "wait"
        for number in [pageNumber, event] { kept.keepHandedDown(number) }
        guard isWaiting else {
            CrashCapture.noteOwnRelease(by: page)
            return
        }
        port = HostRunLoop.PortSource(ofHost: "told to serve", descriptor: event) { [weak self] _, _ in
            MainActor.assumeIsolated { self?.serve() }
        }
    }

    /// Makes room for descriptors that are handed over.
    ///
    /// A process with threads waits for all processors each time its table grows (fs/file.c, expand_fdtable), which took 8 to 20 ms: 64 ms for
    /// a thousand descriptors. A table of this size has 130 kB.
    func makeRoom() {
        let limit = sysconf(CInt(_SC_OPEN_MAX))
        let number = fcntl(event, F_DUPFD_CLOEXEC, CInt(limit > 0 ? min(limit, 16384) : 16384) - 1)
        if number >= 0 { close(number) }
    }

    /// Whether a process stands by to serve in the place of this one.
    var hasStandby: Bool {
        guard let page = unsafe UnsafePointer<HFStandbyPage>(bitPattern: page) else { return false }
        return unsafe hf_standby_state(hf_standby_word(page)) == UInt32(HF_STANDBY_READY)
    }

    /// Ends the wait.
    func serve() {
        guard isWaiting else { return }
        isWaiting = false
        hasWaited = true
        CrashCapture.noteOwnRelease(by: page)
        // From now on a restart in place does not wait again.
        _ = unsafe setenv(Self.variable, "\(pageNumber) \(event) serve", 1)
        Self.anotherServes.store(false, ordering: .relaxed)
        port?.invalidate()
        port = nil
        EventDescriptor.clear(event)
        served?()
        served = nil
    }

    /// Has the fault handlers tell the process that stands by, in place of a restart; not while this one waits itself.
    ///
    /// - Parameters:
    ///   - capture: Whose handlers.
    ///   - keeps: Whether the program keeps something across a restart.
    ///   - link: Whether that can be handed over.
    func offer(to capture: CrashCapture, keeps: Bool, link: Bool) {
        let isMade = !isWaiting && (!keeps || link)
        capture.setStandby(isMade ? page : nil, event: event, keeps: keeps)
    }
}
