import Glibc
import Symbolication
import TestSupport
import Testing

/// A folder of its own that goes away with the object.
private final class TemporaryFolder {
    let path: String

    init() throws {
        var template = Array("/tmp/symbolication-tests-XXXXXX".utf8CString)
        try #require(mkdtemp(&template) != nil)
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
    }

    deinit {
        unlink(image)
        rmdir(image)
        rmdir(path)
    }

    var image: String { path + "/image" }

    func write(_ bytes: [UInt8]) throws {
        let file = try #require(fopen(image, "w"))
        fwrite(bytes, 1, bytes.count, file)
        fclose(file)
    }
}

private func contents(of path: String) throws -> [UInt8] {
    let file = try #require(fopen(path, "r"))
    defer { fclose(file) }
    var bytes: [UInt8] = []
    var chunk = [UInt8](repeating: 0, count: 1 << 16)
    while case let count = fread(&chunk, 1, chunk.count, file), count > 0 {
        bytes += chunk[..<count]
    }
    return bytes
}

@Suite("Images that cannot be used", .timeLimit(.minutes(10)))
struct UnusableImageTests {
    private let address: UInt64
    private let image: SymbolImage

    init() throws {
        address = try #require(exportedAddress("qsort"))
        image = try #require(mappedImage(containing: address))
    }

    private func frames(_ change: (inout SymbolImage) -> Void) -> [SymbolicatedFrame] {
        var image = image
        change(&image)
        return Symbolicator(images: [image], search: DebugFileSearch()).symbolicate(
            address: address,
            isReturnAddress: false
        )
    }

    @Test("give frames when nothing is wrong: the other tests would be vacuous")
    func unchanged() {
        #expect(image.buildID != nil)
        #expect(frames { _ in }.last?.function == "qsort")
        #expect(frames { $0.buildID = $0.buildID?.uppercased() }.last?.function == "qsort")
        #expect(frames { $0.buildID = nil }.last?.function == "qsort")
    }

    @Test("give nothing when the file's build id is not the recorded one")
    func otherBuildID() {
        #expect(frames { $0.buildID = "00112233445566778899aabbccddeeff00112233" }.isEmpty)
        #expect(frames { $0.buildID = "" }.isEmpty)
    }

    @Test("give nothing for paths without a file")
    func noFile() {
        #expect(frames { $0.path = "" }.isEmpty)
        #expect(frames { $0.path = "/nonexistent/image" }.isEmpty)
        #expect(frames { $0.path = "linux-vdso.so.1" }.isEmpty)
        #expect(frames { $0.path += "\0" }.isEmpty)
        #expect(frames { $0.path = String(repeating: "x", count: 100_000) }.isEmpty)
    }

    @Test("give nothing for what is not a regular file, without waiting")
    func otherFileTypes() throws {
        let folder = try TemporaryFolder()
        #expect(mkdir(folder.image, 0o700) == 0)
        #expect(frames { $0.path = folder.image }.isEmpty)
        #expect(rmdir(folder.image) == 0)
        #expect(mkfifo(folder.image, 0o600) == 0)
        #expect(frames { $0.path = folder.image }.isEmpty)
        #expect(unlink(folder.image) == 0)
        #expect(symlink(folder.image, folder.image) == 0)
        #expect(frames { $0.path = folder.image }.isEmpty)
        #expect(frames { $0.path = "/dev/zero" }.isEmpty)
    }

    @Test("give nothing for an address outside")
    func addressOutside() {
        let symbolicator = Symbolicator(images: [image])
        for outside in [0, 1, image.base - 1, image.end, .max] {
            #expect(symbolicator.symbolicate(address: outside, isReturnAddress: false).isEmpty)
            #expect(symbolicator.symbolicate(address: outside, isReturnAddress: true).isEmpty || outside == image.end)
        }
        #expect(Symbolicator(images: []).symbolicate(address: address, isReturnAddress: false).isEmpty)
    }

    @Test("give nothing for files that are cut short, empty or no images at all")
    func truncated() throws {
        let folder = try TemporaryFolder()
        let whole = try contents(of: image.path)
        for count in [0, 1, 63, 64, 4096, whole.count / 2, whole.count - 1] {
            try folder.write(Array(whole.prefix(count)))
            #expect(frames { $0.path = folder.image }.isEmpty, "cut to \(count) bytes")
        }
        try folder.write(Array("#!/bin/sh\n".utf8))
        #expect(frames { $0.path = folder.image }.isEmpty)
        try folder.write(whole)
        #expect(frames { $0.path = folder.image }.last?.function == "qsort")
    }

    @Test("give nothing for a huge file, without reading it")
    func huge() throws {
        let folder = try TemporaryFolder()
        try folder.write(Array(try contents(of: image.path).prefix(64)))
        #expect(truncate(folder.image, 5 << 30) == 0)
        #expect(frames { $0.path = folder.image }.isEmpty)
    }

    @Test("do no harm when they are damaged anywhere")
    func damaged() throws {
        let folder = try TemporaryFolder()
        let own = try #require(mappedImage(containing: returnAddress()))
        let whole = try contents(of: own.path)
        var random = SystemRandomNumberGenerator()
        for _ in 0..<8 {
            var bytes = whole
            for _ in 0..<2000 {
                bytes[Int.random(in: 64..<bytes.count, using: &random)] = .random(in: 0...255, using: &random)
            }
            try folder.write(bytes)
            let image = SymbolImage(path: folder.image, base: own.base, end: own.end, buildID: nil)
            let symbolicator = Symbolicator(images: [image])
            for address in stride(from: own.base, to: own.end, by: Int((own.end - own.base) / 64) + 1) {
                _ = symbolicator.symbolicate(address: address, isReturnAddress: false)
            }
        }
    }
}
