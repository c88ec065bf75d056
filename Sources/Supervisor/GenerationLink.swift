internal import Glibc
internal import LinuxSystem

/// The link by which a process hears of the one that takes over from it, and gets what the one before it has kept.
///
/// The process has made it, and has given this end away. The supervisor only passes ends on.
@MainActor
final class GenerationLink {
    /// This end; -1 for none.
    private var socket: CInt = -1
    /// Of the process that has taken over.
    private weak var successor: GenerationLink?
    /// Of the process that stands by.
    private weak var standby: GenerationLink?
    /// Which process that is.
    private var serial: UInt32 = 0

    /// Whether something can be handed over by it.
    var isOpen: Bool { socket >= 0 }

    /// Takes another end in the place of the former one: a process that has restarted in place makes a new link, and knows nothing any more.
    func open(_ socket: CInt) {
        close()
        self.socket = socket
        tell(of: successor, "SUCCESSOR")
        tell(of: standby, "STANDBY \(serial)")
    }

    /// Tells the process of the one that has taken over.
    func setSuccessor(_ link: GenerationLink) {
        successor = link
        tell(of: link, "SUCCESSOR")
    }

    /// Another process goes on with the successor's link: told only if this one begins anew.
    func noteHeir(_ link: GenerationLink) { successor = link }

    /// Tells the process of one that stands by: with Holdfast inside its fault handler hands over to that one what it keeps.
    ///
    /// - Parameters:
    ///   - link: Of the other process.
    ///   - serial: Which one it is.
    func setStandby(_ link: GenerationLink, serial: UInt32) {
        standby = link
        self.serial = serial
        tell(of: link, "STANDBY \(serial)")
    }

    private func tell(of other: GenerationLink?, _ words: String) {
        guard let other, isOpen, other.isOpen else { return }
        // A link without room is one that nobody reads.
        try? PacketSocket.send(Array(words.utf8), [], descriptors: [other.socket], to: socket)
    }

    /// Ends it.
    func close() {
        if socket >= 0 { _ = Glibc.close(socket) }
        socket = -1
    }
}
