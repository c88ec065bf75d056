internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// The message of a container's end: what Kubernetes shows of it (`terminationMessagePath`).
enum TerminationLog {
    /// As much as Kubernetes takes.
    static let longest = 4096

    /// Writes the diagnosis of a death over what was there.
    ///
    /// - Parameters:
    ///   - record: The death.
    ///   - path: A file that is there: it is made by who reads it.
    static func write(_ record: DeathRecord, to path: String) {
        let flags = O_WRONLY | O_TRUNC | O_CLOEXEC | O_NONBLOCK
        guard let number = try? SystemCall.checked({ unsafe open(path, flags) }) else { return }
        let file = OwnedDescriptor(takingOver: number)
        let lines = ["\(record.program.name): \(record.verdict.text)"] + record.verdict.next + [record.action]
        var text = lines.joined(separator: "\n") + "\n"
        let title = "Last of its standard error:\n"
        let room = longest - text.utf8.count - title.utf8.count
        // The end of it: that is where a program says why.
        let last = String(decoding: record.lastOutput.suffix(max(0, room)).drop { $0 & 0xc0 == 0x80 }, as: UTF8.self)
        if !last.isEmpty { text += title + last }
        try? file.writeAll(shortened(text))
    }

    /// As many bytes as fit, without a part of a character at the end.
    private static func shortened(_ text: String) -> [UInt8] {
        var bytes = Array(text.utf8.prefix(longest))
        guard bytes.count < text.utf8.count else { return bytes }
        // Back to where the last character begins, which may be whole or not.
        while let last = bytes.last, last & 0xc0 == 0x80 { bytes.removeLast() }
        if let last = bytes.last, last >= 0xc0 { bytes.removeLast() }
        return bytes
    }
}
