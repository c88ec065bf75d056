import Glibc

/// Bytes of the kernel, such as arguments and file names, as strings that lose none of them.
///
/// A byte that is not part of UTF-8 becomes a character for private use, U+10FE80 to U+10FEFF. Python does the same with surrogates (PEP 383),
/// which a Swift string cannot have. The bytes of such a character itself become four of them.
package enum ByteText {
    private static let base: UInt32 = 0x10_FE00
    private static let escapes = base + 0x80...base + 0xFF

    /// Reads bytes.
    package static func text(_ bytes: some Collection<UInt8>) -> String {
        let text = String(decoding: bytes, as: UTF8.self)
        guard text.unicodeScalars.contains(where: { $0 == "\u{FFFD}" || escapes.contains($0.value) }) else {
            return text
        }
        var scalars = String.UnicodeScalarView()
        var rest = bytes[...]
        while !rest.isEmpty {
            var parser = UTF8.ForwardParser()
            var iterator = rest.makeIterator()
            var count = 1
            if case .valid(let encoded) = parser.parseScalar(from: &iterator) {
                let scalar = UTF8.decode(encoded)
                count = encoded.count
                if !escapes.contains(scalar.value) {
                    scalars.append(scalar)
                    rest = rest.dropFirst(count)
                    continue
                }
            }
            for byte in rest.prefix(count) {
                // Each is 0x80 at least: what is below is UTF-8.
                if let scalar = Unicode.Scalar(base + UInt32(byte)) { scalars.append(scalar) }
            }
            rest = rest.dropFirst(count)
        }
        return String(scalars)
    }

    /// The bytes that a text was made of.
    package static func bytes(of text: String) -> [UInt8] {
        guard text.unicodeScalars.contains(where: { escapes.contains($0.value) }) else { return Array(text.utf8) }
        return text.unicodeScalars.flatMap { scalar in
            escapes.contains(scalar.value) ? [UInt8(scalar.value - base)] : Array(UTF8.encode(scalar) ?? .init())
        }
    }

    /// The arguments of this process.
    package static func arguments() -> [String] {
        (0..<Int(CommandLine.argc)).compactMap { index in
            unsafe CommandLine.unsafeArgv[index].map { unsafe text(bytes(at: $0)) }
        }
    }

    /// The environment of this process.
    package static func environment() -> [String: String] {
        var all: [String: String] = [:]
        var entry = unsafe environ
        while let variable = unsafe entry.pointee {
            let bytes = unsafe bytes(at: variable)
            if let sign = bytes.firstIndex(of: UInt8(ascii: "=")) {
                all[text(bytes[..<sign])] = text(bytes[(sign + 1)...])
            }
            unsafe entry += 1
        }
        return all
    }

    private static func bytes(at place: UnsafePointer<CChar>) -> [UInt8] {
        unsafe UnsafeBufferPointer(start: place, count: strlen(place)).map { UInt8(bitPattern: $0) }
    }
}
