internal import Glibc
package import Symbolication

/// Finds the image of this process that an address lies in, from the kernel's list of mappings.
package func mappedImage(containing address: UInt64) -> SymbolImage? {
    let mappings = ownMappings()
    guard let path = mappings.first(where: { $0.range.contains(address) })?.path, path.hasPrefix("/") else {
        return nil
    }
    let ranges = mappings.filter { $0.path == path }.map(\.range)
    guard let first = ranges.first, let last = ranges.last else { return nil }
    return SymbolImage(
        path: path,
        base: first.lowerBound,
        end: last.upperBound,
        buildID: buildID(ofImageAt: first.lowerBound)
    )
}

private func ownMappings() -> [(range: Range<UInt64>, path: String)] {
    guard let file = fopen("/proc/self/maps", "r") else { return [] }
    defer { fclose(file) }
    var mappings: [(range: Range<UInt64>, path: String)] = []
    var line = [CChar](repeating: 0, count: 8192)
    while fgets(&line, CInt(line.count), file) != nil {
        let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
        let fields = text.split(maxSplits: 5) { $0 == " " || $0 == "\n" }
        let bounds = (fields.first ?? "").split(separator: "-").compactMap { UInt64($0, radix: 16) }
        guard fields.count == 6, bounds.count == 2 else { continue }
        let path = fields[5].drop { $0 == " " }.prefix { $0 != "\n" }
        mappings.append((bounds[0]..<bounds[1], String(path)))
    }
    return mappings
}

/// Reads the build id from the image as it is mapped, so that a test does not depend on what it tests.
private func buildID(ofImageAt base: UInt64) -> String? {
    guard let header = UnsafeRawPointer(bitPattern: UInt(base)) else { return nil }
    let programHeaders = header + Int(header.load(fromByteOffset: 32, as: UInt64.self))
    let (size, count) = (
        header.load(fromByteOffset: 54, as: UInt16.self), header.load(fromByteOffset: 56, as: UInt16.self)
    )
    for index in 0..<Int(count) {
        let programHeader = programHeaders + index * Int(size)
        // PT_NOTE; position-independent images are linked at address 0.
        guard programHeader.load(as: UInt32.self) == 4 else { continue }
        let start = header + Int(programHeader.load(fromByteOffset: 16, as: UInt64.self))
        let bytes = Int(programHeader.load(fromByteOffset: 40, as: UInt64.self))
        if let identifier = buildID(in: UnsafeRawBufferPointer(start: start, count: bytes)) {
            return identifier
        }
    }
    return nil
}

private func buildID(in notes: UnsafeRawBufferPointer) -> String? {
    var offset = 0
    while offset + 12 <= notes.count {
        let name = Int(notes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        let description = Int(notes.loadUnaligned(fromByteOffset: offset + 4, as: UInt32.self))
        let type = notes.loadUnaligned(fromByteOffset: offset + 8, as: UInt32.self)
        let content = offset + 12 + (name + 3) & ~3
        // NT_GNU_BUILD_ID of the vendor "GNU\0".
        if type == 3, name == 4, content + description <= notes.count {
            return notes[content..<content + description].map(hexadecimal).joined()
        }
        offset = content + (description + 3) & ~3
    }
    return nil
}

private func hexadecimal(_ byte: UInt8) -> String {
    (byte < 16 ? "0" : "") + String(byte, radix: 16)
}

/// The C library's stack walk: its header is in no module.
@_silgen_name("backtrace")
private func backtrace(_ frames: UnsafeMutablePointer<UnsafeMutableRawPointer?>, _ count: CInt) -> CInt

/// The address behind the call of this function.
@inline(never)
package func returnAddress() -> UInt64 {
    var frames = [UnsafeMutableRawPointer?](repeating: nil, count: 2)
    let count = backtrace(&frames, 2)
    return count == 2 ? UInt64(UInt(bitPattern: frames[1])) : 0
}

/// The addresses behind the calls that led here, the innermost first.
@inline(never)
package func callStack() -> [UInt64] {
    var frames = [UnsafeMutableRawPointer?](repeating: nil, count: 16)
    let count = backtrace(&frames, CInt(frames.count))
    return frames.prefix(Int(count)).dropFirst().map { UInt64(UInt(bitPattern: $0)) }
}

/// The address of a function that a library exports.
package func exportedAddress(_ name: String) -> UInt64? {
    dlsym(nil, name).map { UInt64(UInt(bitPattern: $0)) }
}
