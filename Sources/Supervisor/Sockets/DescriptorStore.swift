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
    /// - Returns: How many could not be kept.
    func keep(_ numbers: [CInt], name: String?, isPolled: Bool) -> Int {
        let isValid = name.map { name in
            name.utf8.count <= 255
                && name.unicodeScalars.allSatisfy { $0.isASCII && $0.value >= 0x20 && $0 != ":" && $0.value != 0x7f }
        }
        let name = isValid == true ? (name ?? "stored") : "stored"
        var refused = 0
        for number in numbers {
            if entries.contains(where: { Self.areSame($0.number, number) }) {
                _ = close(number)
            } else if entries.count >= Self.most {
                refused += 1
                _ = close(number)
            } else {
                entries.append(Entry(name: name, number: number, watch: isPolled ? watch(number) : nil))
            }
        }
        return refused
    }

    /// Forgets the descriptors of a name.
    func remove(named name: String) {
        for entry in entries where entry.name == name { Self.drop(entry) }
        entries.removeAll { $0.name == name }
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
        ) { [self] _, readiness in
            guard !readiness.isDisjoint(with: [.hangUp, .error]) else { return }
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
