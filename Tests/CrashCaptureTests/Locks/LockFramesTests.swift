import Foundation
import Synchronization
import TestSupport
import Testing

@testable import CrashCapture
@testable import Symbolication

/// Functions that note the stack they are on.
private enum LockScenario {
    @inline(never)
    static func inWithLock(_ mutex: borrowing Mutex<Int>) -> [UInt64] {
        mutex.withLock { value in
            let stack = callStack()
            value += stack.count
            return stack
        }
    }

    @inline(never)
    static func inWithLockIfAvailable(_ mutex: borrowing Mutex<Int>) -> [UInt64] {
        let stack = mutex.withLockIfAvailable { value in
            let stack = callStack()
            value += stack.count
            return stack
        }
        return stack ?? []
    }

    @inline(never)
    static func aroundClosure(_ mutex: borrowing Mutex<Int>, _ body: () -> [UInt64]) -> [UInt64] {
        mutex.withLock { value in
            let stack = body()
            value += stack.count
            return stack
        }
    }

    @inline(never)
    static func withoutLock() -> [UInt64] {
        let stack = callStack()
        return stack + []
    }

    @inline(never)
    static func afterLockElsewhere(_ mutex: borrowing Mutex<Int>) -> [UInt64] {
        let count = lockAndCount(mutex)
        let stack = callStack()
        return count > 0 ? stack : []
    }

    @inline(never)
    private static func lockAndCount(_ mutex: borrowing Mutex<Int>) -> Int {
        mutex.withLock { value in
            value += 1
            return value
        }
    }
}

@Suite(.timeLimit(.minutes(10))) final class LockFramesTests {
    private let mutex = Mutex(0)

    /// The part of a stack that belongs to the scenarios, and an answer for it.
    private func holdsLock(_ stack: [UInt64]) throws -> Bool {
        let image = try #require(mappedImage(containing: stack.first ?? 0))
        let symbolicator = Symbolicator(images: [image])
        // Thunks may lie in between.
        let last = stack.lastIndex { address in
            symbolicator.symbolicate(address: address, isReturnAddress: true).contains {
                $0.rawName?.contains("LockScenario") == true
            }
        }
        let own = stack.prefix((last ?? -1) + 1)
        #expect(!own.isEmpty)
        // The first one is exact: inside the call.
        let places = own.enumerated().map { $0 == 0 ? $1 - 1 : $1 }
        return places.withUnsafeBufferPointer(LockFrames(executable: image).contain)
    }

    @Test func `A stack inside withLock of a Mutex is found`() throws {
        #expect(try holdsLock(LockScenario.inWithLock(mutex)))
        #expect(try holdsLock(LockScenario.inWithLockIfAvailable(mutex)))
        #expect(try holdsLock(LockScenario.aroundClosure(mutex) { LockScenario.withoutLock() }))
    }

    @Test func `A stack without a lock is not`() throws {
        #expect(try !holdsLock(LockScenario.withoutLock()))
        #expect(try !holdsLock(LockScenario.afterLockElsewhere(mutex)), "it was another function's, and is released")
    }

    @Test func `Answers are the same when they are remembered, and when too many were`() throws {
        let stack = LockScenario.inWithLock(mutex)
        let image = try #require(mappedImage(containing: stack.first ?? 0))
        let lockFrames = LockFrames(executable: image)
        lockFrames.warmUp()
        for _ in 0..<2 { #expect(stack.withUnsafeBufferPointer(lockFrames.contain)) }
        // Outside of the image, so that each is quickly looked up.
        let others = (0..<10_000).map { image.end + 4096 + $0 }
        #expect(!others.withUnsafeBufferPointer(lockFrames.contain))
        for _ in 0..<2 { #expect(stack.withUnsafeBufferPointer(lockFrames.contain)) }
    }

    /// What happens to places in an executable of which nothing is known, and to those elsewhere.
    private func expectNothingIsCleared(by image: SymbolImage, at place: UInt64) {
        let lockFrames = LockFrames(executable: image)
        lockFrames.warmUp()
        #expect([place].withUnsafeBufferPointer(lockFrames.contain))
        #expect(!([image.end, 0, .max] as [UInt64]).withUnsafeBufferPointer(lockFrames.contain))
    }

    @Test func `A file that cannot be read clears nothing`() {
        let image = SymbolImage(path: "/does/not/exist", base: 0x1000, end: 0x2000, buildID: nil)
        expectNothingIsCleared(by: image, at: 0x1234)
    }

    @Test func `What could not be read is read when it can be`() throws {
        let place = [(LockScenario.withoutLock().first ?? 0) - 1]
        var image = try #require(mappedImage(containing: place[0]))
        let folder = try TemporaryFolder()
        let path = image.path
        image.path = folder.path + "/program"
        let lockFrames = LockFrames(executable: image)
        lockFrames.warmUp()
        #expect(place.withUnsafeBufferPointer(lockFrames.finding) == .unread)
        try FileManager.default.createSymbolicLink(atPath: image.path, withDestinationPath: path)
        #expect(place.withUnsafeBufferPointer(lockFrames.finding) == .clear)
    }

    @Test func `A file without section headers clears nothing`() throws {
        let place = (LockScenario.withoutLock().first ?? 0) - 1
        var image = try #require(mappedImage(containing: place))
        let folder = try TemporaryFolder()
        let copy = folder.path + "/program"
        try FileManager.default.copyItem(atPath: image.path, toPath: copy)
        image.path = copy
        let file = try #require(FileHandle(forUpdatingAtPath: copy))
        // e_shoff, then e_shnum and e_shstrndx (elf(5)).
        for place in [0x28..<0x30, 0x3c..<0x40] {
            try file.seek(toOffset: UInt64(place.lowerBound))
            try file.write(contentsOf: Data(count: place.count))
        }
        try file.close()
        expectNothingIsCleared(by: image, at: place)
    }

    @Test func `A file whose relocations are cut off clears nothing`() throws {
        let place = (LockScenario.withoutLock().first ?? 0) - 1
        var image = try #require(mappedImage(containing: place))
        let folder = try TemporaryFolder()
        let copy = folder.path + "/program"
        try FileManager.default.copyItem(atPath: image.path, toPath: copy)
        image.path = copy
        let sections = try #require(ELFFile(path: copy)).sections
        let table = try #require(sections.firstIndex { $0.header.sh_type == UInt32(SHT_RELA) && $0.header.sh_size > 0 })
        let handle = try #require(FileHandle(forUpdatingAtPath: copy))
        // e_shoff (elf(5)).
        try handle.seek(toOffset: 0x28)
        let headers = try #require(try handle.read(upToCount: 8)).withUnsafeBytes { $0.loadUnaligned(as: UInt64.self) }
        // sh_offset of that section, 24 bytes into its header of 64: far behind the end of the file.
        try handle.seek(toOffset: headers + UInt64(table * 64 + 24))
        try handle.write(contentsOf: Data([0, 0, 0, 0, 0, 0, 0xff, 0]))
        try handle.close()
        expectNothingIsCleared(by: image, at: place)
    }

    @Test func `The file of another build clears nothing`() throws {
        let place = (LockScenario.withoutLock().first ?? 0) - 1
        var image = try #require(mappedImage(containing: place))
        #expect(![place].withUnsafeBufferPointer(LockFrames(executable: image).contain))
        let buildID = try #require(image.buildID)
        image.buildID = (buildID.hasPrefix("00") ? "11" : "00") + buildID.dropFirst(2)
        expectNothingIsCleared(by: image, at: place)
    }

    @Test func `Asking again allocates nothing`() throws {
        let run = try ProgramRun.run(BuiltProduct.path(of: "lock-frames-probe"), [])
        #expect(run.end == .exited(0))
        #expect(run.output.hasPrefix("allocations 0 "), "\(run.output)\(run.errors)")
    }
}
