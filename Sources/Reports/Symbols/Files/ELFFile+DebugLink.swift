internal import CElfutils
internal import Glibc

extension ELFFile {
    /// The name of a separate debug file, and the CRC-32 of its bytes.
    struct DebugLink {
        var name: String
        var checksum: UInt32
    }

    /// What the section `.gnu_debuglink` says; nil without one, and when it names anything but a file.
    var debugLink: DebugLink? {
        var checksum: GElf_Word = 0
        guard let name = unsafe dwelf_elf_gnu_debuglink(handle, &checksum).map({ unsafe String(cString: $0) }),
            !name.isEmpty, !name.contains("/"), name != ".", name != ".."
        else { return nil }
        return DebugLink(name: name, checksum: checksum)
    }

    /// The CRC-32 of the file's bytes, as `.gnu_debuglink` has it; nil when they cannot be read or are too many.
    func checksum() -> UInt32? {
        guard let size, size <= Self.mostChecksummedBytes else { return nil }
        var checksum = UInt32.max
        var offset: UInt64 = 0
        while offset < size {
            let chunk = bytes(at: offset, count: 1 << 20)
            guard !chunk.isEmpty else { return nil }
            for byte in chunk {
                checksum = Self.checksums[Int((checksum ^ UInt32(byte)) & 0xff)] ^ checksum >> 8
            }
            offset += UInt64(chunk.count)
        }
        return ~checksum
    }

    /// Larger files need a build id.
    private static var mostChecksummedBytes: UInt64 { 1 << 30 }

    /// The remainders of the polynomial that zlib and gdb use (gdb manual, "Debugging Information in Separate Files").
    private static let checksums: [UInt32] = (0..<256).map { byte in
        (0..<8).reduce(UInt32(byte)) { value, _ in value & 1 == 0 ? value >> 1 : value >> 1 ^ 0xedb8_8320 }
    }
}
