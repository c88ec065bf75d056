/// One line of the table: what was measured, and what others take for the same.
struct Row {
    /// A program or a way of doing it, with its value.
    struct Peer {
        let name: String
        /// In the unit of the row; `nil` if it could not be measured.
        let value: Double?
    }

    let name: String
    /// `ns`, `us`, `calls` or `wake-ups`; lower is better in all.
    let unit: String
    /// What Holdfast takes; `nil` if it could not be measured.
    let value: Double?
    let peers: [Peer]

    init(_ name: String, unit: String = "ns", _ value: Double?, peers: [Peer] = []) {
        self.name = name
        self.unit = unit
        self.value = value
        self.peers = peers
    }

    /// A row in nanoseconds with one peer that only it has.
    init(_ name: String, _ value: Double, peer: (name: String, value: Double)) {
        self.init(name, value, peers: [Peer(name: peer.name, value: peer.value)])
    }
}
