internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

/// Descriptors that a program has given to us to keep for its next process: FDSTORE of sd_notify(3).
@MainActor
final class DescriptorStore {
    private struct Entry {
        let name: String
        let number: CInt
        /// Drops the descriptor when its other end is gone; nil if it is kept all the same.
        let watch: HostRunLoop.PortSource?
    }

    private var entries: [Entry] = []
    private let manager: ServiceManager
    /// What the names have before them in the store of the manager above us, which keeps the descriptors of all programs.
    private let prefix: String

    /// Makes the store of a program.
    ///
    /// - Parameters:
    ///   - program: The program's name.
    ///   - manager: Who keeps the descriptors, too, so that they outlive us.
    ///   - sockets: Who was given those that an earlier supervisor had.
    init(of program: String, _ manager: ServiceManager, _ sockets: ListeningSockets) {
        self.manager = manager
        prefix = "\(program)/"
        for (name, number) in sockets.takeInherited(prefix: prefix) {
            let isPolled = !name.hasPrefix(Self.unpolledMark)
            _ = put([number], isPolled ? name : String(name.dropFirst()), isPolled)
        }
    }

    /// Before the name of one that is kept although its other end is gone.
    private static let unpolledMark = "/"

    private func nameAbove(_ name: String, _ isPolled: Bool) -> String {
        prefix + (isPolled ? "" : Self.unpolledMark) + name
    }

    /// Of sd_notify(3), in bytes.
    private static let longestName = 255

    /// Whether it was told that there is no room for more.
    private var isFullTold = false

    /// How many are kept at most.
    static let most = 128

    /// What the next process gets.
    var descriptors: [(name: String, number: CInt)] { entries.map { ($0.name, $0.number) } }

    /// Keeps descriptors, which belong to the store from now on.
    ///
    /// - Parameters:
    ///   - numbers: The descriptors.
    ///   - name: Their name: 255 characters without a colon, as sd_notify(3) says; `stored` if it is not valid.
    ///   - isPolled: Whether they are dropped when the other end is gone.
    /// - Returns: How many could not be kept; 0 if that was told since there was room.
    func keep(_ numbers: [CInt], name: String?, isPolled: Bool) -> Int {
        let isValid = name.map { name in
            name.utf8.count <= Self.longestName
                && name.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 && $0 != ":" && $0.value != 0x7f }
        }
        let refused = put(numbers, isValid == true ? (name ?? "stored") : "stored", isPolled) { number, name in
            let poll = isPolled ? "" : "\nFDPOLL=0"
            let above = nameAbove(name, isPolled)
            // It would come back under another name.
            guard !name.hasPrefix(Self.unpolledMark), above.utf8.count <= Self.longestName else { return }
            manager.tell("FDSTORE=1\nFDNAME=\(above)\(poll)", descriptors: [number])
        }
        defer { isFullTold = refused > 0 }
        return isFullTold ? 0 : refused
    }

    private func put(
        _ numbers: [CInt],
        _ name: String,
        _ isPolled: Bool,
        _ tell: (CInt, String) -> Void = { _, _ in }
    ) -> Int {
        var refused = 0
        for number in numbers {
            if entries.contains(where: { Self.areSame($0.number, number) }) {
                _ = close(number)
            } else if entries.count >= Self.most {
                refused += 1
                _ = close(number)
            } else {
                entries.append(Entry(name: name, number: number, watch: isPolled ? watch(number) : nil))
                tell(number, name)
            }
        }
        return refused
    }

    /// Forgets the descriptors of a name.
    func remove(named name: String) {
        for entry in entries where entry.name == name { Self.drop(entry) }
        entries.removeAll { $0.name == name }
        for isPolled in [true, false] { manager.tell("FDSTOREREMOVE=1\nFDNAME=\(nameAbove(name, isPolled))") }
    }

    private static func drop(_ entry: Entry) {
        entry.watch?.invalidate()
        _ = close(entry.number)
    }

    private func watch(_ number: CInt) -> HostRunLoop.PortSource? {
        let source = HostRunLoop.PortSource(
            label: "kept descriptor",
            descriptor: FileDescriptor(rawValue: number),
            // Without any interest the loop tells of nothing, and this one never comes.
            interest: .priority
        ) { [self] source, readiness in
            guard !readiness.isDisjoint(with: [.hangUp, .error]) else {
                // Urgent data: the loop would tell of them again and again until somebody takes them.
                return source.invalidate()
            }
            for entry in entries where entry.number == number { Self.drop(entry) }
            entries.removeAll { $0.number == number }
        }
        do {
            try HostRunLoop.main.add(source, to: .common)
            return source
        } catch {
            // A regular file cannot be polled, and has no other end.
            return nil
        }
    }

    /// Whether two descriptors are of the same file: for sockets and memory files that is the same open one.
    private static func areSame(_ one: CInt, _ other: CInt) -> Bool {
        var (first, second) = (stat(), stat())
        guard unsafe fstat(one, &first) == 0, unsafe fstat(other, &second) == 0 else { return false }
        return first.st_dev == second.st_dev && first.st_ino == second.st_ino && first.st_mode & S_IFMT == S_IFSOCK
    }
}
