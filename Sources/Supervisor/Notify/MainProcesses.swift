internal import Glibc
internal import LinuxSystem

/// The processes that count of all programs, and whose a message is: none can be another's.
@MainActor
enum MainProcesses {
    private static var all: Set<CInt> = []

    static func add(_ pid: CInt) { all.insert(pid) }

    static func remove(_ pid: CInt) { all.remove(pid) }

    /// Whether a message is a program's: from its main process, its process group, one that descends from it, or one that has ended since
    /// and was of our user.
    ///
    /// - Parameters:
    ///   - sender: Who has sent it.
    ///   - child: The first process of the program.
    ///   - named: The one that it has named; nil for none.
    /// - Returns: Whether it is.
    static func isFrom(_ sender: NotifySocket.Sender, _ child: CInt, named: CInt?) -> Bool {
        if sender.pid == child || sender.pid == named { return true }
        let group = getpgid(sender.pid)
        if group < 0 { return errno == ESRCH && (sender.user == geteuid() || sender.user == 0) }
        return group == child || isBelow(sender.pid, child, named: named)
    }

    /// Whether a process descends from a program's first one, as far as its ancestors live.
    ///
    /// - Parameters:
    ///   - pid: The process.
    ///   - child: The first process of the program.
    ///   - named: The one that it has named; nil for none.
    /// - Returns: Whether it does.
    static func isBelow(_ pid: CInt, _ child: CInt, named: CInt?) -> Bool {
        guard !all.contains(pid) || pid == child || pid == named else { return false }
        return ProcessFields.isBelow(pid, child, others: all)
    }
}
