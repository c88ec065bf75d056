internal import LinuxSystem

/// How much of the last ten seconds tasks waited for memory: pressure stall information (linux/Documentation/accounting/psi.rst).
struct MemoryPressure: Sendable, Equatable {
    /// Of whom: a control group, or the machine.
    let place: String
    /// Part of the time in which some task waited, in per cent as the kernel writes it.
    let some: String
    /// The same for all tasks at once.
    let full: String

    /// Takes the text of `memory.pressure` or `/proc/pressure/memory`; nil if nobody waited, or the text is none of the kernel's.
    ///
    /// - Parameters:
    ///   - text: The text.
    ///   - place: Of whom it is.
    init?(_ text: String, of place: String) {
        func share(_ kind: String) -> String? {
            let line = text.split(separator: "\n").first { $0.hasPrefix("\(kind) ") }
            let word = line?.split(separator: " ").first { $0.hasPrefix("avg10=") }?.dropFirst("avg10=".count)
            return word.flatMap { Double($0) != nil && $0.utf8.count <= 8 ? String($0) : nil }
        }
        guard let some = share("some"), some != "0.00" else { return nil }
        self.place = place
        self.some = some
        full = share("full") ?? "0.00"
    }

    /// That of the machine; nil if nobody waits, or the kernel does not say.
    static func ofMachine() -> MemoryPressure? {
        SmallFile.text("/proc/pressure/memory").flatMap { MemoryPressure($0, of: "the machine") }
    }

    /// A line of evidence.
    var line: String {
        "memory pressure of \(place): of the last 10 s, some tasks waited \(some) %, and all of them \(full) %"
    }
}
