internal import LinuxSystem

/// What one process has read of its program, in a file for the program's next processes: where functions come from, and which use locks.
///
/// The file names what it was read from: the program's file and the debug file, by what fstat(2) says of them, and the settings. A file that was
/// read from anything else, or is damaged, is as good as none.
package struct KeptCode {
    /// The name of the file; a program without a build id has none.
    package let name: String
    private let key: [UInt8]
    private let executable: SymbolImage
    private let files: CodeFiles
    private let identity: [String]

    /// Names what would be read now; nil where a file cannot be read, or the program has no build id.
    ///
    /// - Parameters:
    ///   - executable: The program's file as it is mapped.
    ///   - files: What was found of it.
    ///   - trusted: As for `FunctionOrigins`.
    ///   - isStatic: As for `FunctionOrigins`.
    package init?(of executable: SymbolImage, in files: CodeFiles, trusting trusted: TrustedCode, isStatic: Bool) {
        guard let buildID = executable.buildID, files.binary?.buildID == buildID, let identity = files.identity() else {
            return nil
        }
        var words = ["\(HoldfastVersion.current) \(Self.format)", buildID, "static \(isStatic)"]
        for list in [identity, trusted.modules.sorted(), trusted.functions.sorted()] {
            words += ["\(list.count)"] + list
        }
        key = Array(words.map { $0 + "\0" }.reduce("", +).utf8)
        name = buildID.prefix(64) + ".code"
        self.executable = executable
        self.files = files
        self.identity = identity
    }

    /// Changes with what is read of a file, and with how it is written down.
    private static let format = 2
    private static let magic = Array("holdfast code\n\0\0".utf8)
    /// More than any program needs: 17 bytes for each range, of which a Hummingbird server has 700, and 9 for each function of locks.
    package static let mostBytes = 4 << 20

    /// The bytes of the file: its kind, the sum of all that follows, how long the key is, the key, the size of the origins, these, and the locks.
    ///
    /// - Parameters:
    ///   - origins: What was read.
    ///   - locks: What was read of locks; it is not looked at here.
    /// - Returns: Nil where another attempt may tell more, or the files have changed meanwhile.
    package func file(of origins: FunctionOrigins, locks: [UInt8]) -> [UInt8]? {
        // The program may also have closed them (closefrom(3)).
        guard files.identity() == identity else { return nil }
        let file = origins.encoded().map { Self.file(key: key, read: $0, locks: locks) }
        return (file?.count ?? 0) <= Self.mostBytes ? file : nil
    }

    static func file(key: [UInt8], read: [UInt8], locks: [UInt8]) -> [UInt8] {
        let rest = bytes(of: UInt64(key.count)) + key + bytes(of: UInt64(read.count)) + read + locks
        return magic + bytes(of: sum(of: rest[...])) + rest
    }

    /// The parts of a file; nil if it is anything else, or is damaged.
    static func parts(
        of file: [UInt8]
    ) -> (key: ArraySlice<UInt8>, read: ArraySlice<UInt8>, locks: ArraySlice<UInt8>)? {
        let start = magic.count + 8
        guard file.starts(with: magic), file.value(UInt64.self, at: magic.count) == sum(of: file.dropFirst(start)),
            let (key, end) = sized(at: start, in: file), let (read, last) = sized(at: end, in: file)
        else { return nil }
        return (key, read, file[last...])
    }

    /// Bytes behind their number, and where they end; nil if there are fewer.
    private static func sized(at place: Int, in file: [UInt8]) -> (bytes: ArraySlice<UInt8>, end: Int)? {
        guard let size = file.value(UInt64.self, at: place), size <= UInt64(file.count - place - 8) else { return nil }
        let end = place + 8 + Int(size)
        return (file[(place + 8)..<end], end)
    }

    /// What was read, from the bytes of a file.
    ///
    /// - Parameter file: The bytes, of which nothing is believed.
    /// - Returns: Nil if they are anything else, or were read from other files.
    package func contents(of file: [UInt8]) -> (origins: FunctionOrigins, locks: ArraySlice<UInt8>)? {
        guard let parts = Self.parts(of: file), parts.key.elementsEqual(key) else { return nil }
        return FunctionOrigins(decoding: parts.read, of: executable).map { ($0, parts.locks) }
    }

    private static func bytes(of word: UInt64) -> [UInt8] { unsafe withUnsafeBytes(of: word) { unsafe Array($0) } }

    /// Finds damage, not intent: whoever may write the file could as well change the program's memory.
    private static func sum(of bytes: ArraySlice<UInt8>) -> UInt64 {
        unsafe bytes.withUnsafeBytes { bytes in
            var sum = UInt64(bytes.count)
            var place = 0
            func add(_ word: UInt64) {
                sum = (sum ^ word) &* 0x9e37_79b9_7f4a_7c15
                sum ^= sum >> 29
            }
            while place + 8 <= bytes.count {
                add(unsafe bytes.loadUnaligned(fromByteOffset: place, as: UInt64.self))
                place += 8
            }
            while place < bytes.count {
                add(UInt64(unsafe bytes[place]))
                place += 1
            }
            return sum
        }
    }
}
