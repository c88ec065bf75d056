import Glibc
import Symbolication
import TestSupport
import Testing

private let lineOfKnownFunction: Int = #line + 4
// Not optimised away or merged: the addresses inside it are what the tests look up.
@inline(never)
private func knownFunction() -> UInt64 {
    let address = returnAddress()
    return address &+ opaqueZero
}

@inline(__always)
private func inlinedFunction() -> UInt64 {
    returnAddress() &+ opaqueZero
}

@inline(never)
private func functionWithInlinedCall() -> UInt64 {
    let address = inlinedFunction()
    return address &+ opaqueZero
}

private let lineOfTrap: Int = #line + 4
// The addition traps on overflow.
@inline(never)
private func trappingFunction() -> UInt64 {
    returnAddress() + opaqueZero
}

/// Zero, which the optimiser cannot know; adding it after a call keeps the call from becoming a tail call.
private var opaqueZero: UInt64 {
    UInt64(bitPattern: Int64(getpid())) >> 63
}

@Suite("Symbolicator")
struct SymbolicatorTests {
    @Test("names function, file and line of an address in this program")
    func ownFunction() throws {
        let address = knownFunction()
        let image = try #require(mappedImage(containing: address))
        let frames = Symbolicator(images: [image]).symbolicate(address: address, isReturnAddress: true)
        let frame = try #require(frames.last)
        #expect(frame.function?.contains("knownFunction") == true)
        #expect(frame.rawName?.hasPrefix("$s18SymbolicationTests") == true)
        #expect(frame.file == #filePath)
        #expect(frame.line == lineOfKnownFunction)
        #expect(!frame.inlined)
        #expect(!frame.isThunk)
        #expect(!frame.isRuntimeFailure)
        #expect(try #require(frame.functionOffset) > 0)
    }

    @Test("shows an inlined function inside the physical one, or the function itself where nothing is inlined")
    func inlinedFunctions() throws {
        let address = functionWithInlinedCall()
        let image = try #require(mappedImage(containing: address))
        let symbolicator = Symbolicator(images: [image])
        let frames = symbolicator.symbolicate(address: address, isReturnAddress: true)
        let innermost = try #require(frames.first)
        #expect(innermost.function?.contains("inlinedFunction") == true)
        #expect(innermost.file == #filePath)
        if frames.count > 1 {
            #expect(innermost.inlined)
            #expect(innermost.functionOffset == nil)
            #expect(frames.last?.function?.contains("functionWithInlinedCall") == true)
            #expect(frames.last?.file == #filePath)
        }
    }

    @Test("gives a symbol's name and no line where there is no debug information", arguments: ["qsort", "getenv"])
    func libraryFunction(name: String) throws {
        let start = try #require(exportedAddress(name))
        let image = try #require(mappedImage(containing: start))
        let symbolicator = Symbolicator(images: [image], search: DebugFileSearch())
        let frames = symbolicator.symbolicate(address: start + 3, isReturnAddress: false)
        #expect(frames.count == 1)
        #expect(frames.first?.function == name)
        #expect(frames.first?.functionOffset == 3)
        #expect(frames.first?.file == nil)
        let before = symbolicator.symbolicate(address: start, isReturnAddress: true)
        #expect(before.last?.function != name)
    }

    @Test("names a function of the Swift runtime")
    func runtimeFunction() throws {
        let start = try #require(exportedAddress("swift_retain"))
        let image = try #require(mappedImage(containing: start))
        let frames = Symbolicator(images: [image]).symbolicate(address: start, isReturnAddress: false)
        #expect(frames.last?.rawName == "swift_retain")
        #expect(frames.last?.functionOffset == 0)
    }

    @Test("shows the compiler's note of a trap as the innermost frame of the function that has the trap")
    func runtimeFailures() throws {
        let address = trappingFunction()
        let image = try #require(mappedImage(containing: address))
        let symbolicator = Symbolicator(images: [image])
        let physical = try #require(symbolicator.symbolicate(address: address, isReturnAddress: true).last)
        let start = address - (try #require(physical.functionOffset))
        var failures: [[SymbolicatedFrame]] = []
        for offset: UInt64 in 0..<4096 {
            let frames = symbolicator.symbolicate(address: start + offset, isReturnAddress: false)
            guard frames.last?.rawName == physical.rawName else { break }
            #expect(frames.last?.functionOffset == offset)
            if frames.first?.isRuntimeFailure == true {
                failures.append(frames)
            }
        }
        let failure = try #require(failures.first)
        #expect(failure.count == 2)
        #expect(failure.first?.function == "Swift runtime failure: arithmetic overflow")
        #expect(failure.first?.inlined == true)
        #expect(failure.last?.file == #filePath)
        #expect(failure.last?.line == lineOfTrap)
    }

    @Test("gives the same frames again, also from files that are opened anew")
    func repeatedLookups() throws {
        let address = functionWithInlinedCall()
        let image = try #require(mappedImage(containing: address))
        let symbolicator = Symbolicator(images: [image])
        let first = symbolicator.symbolicate(address: address, isReturnAddress: true)
        #expect(!first.isEmpty)
        #expect(symbolicator.symbolicate(address: address, isReturnAddress: true) == first)
        #expect(Symbolicator(images: [image]).symbolicate(address: address, isReturnAddress: true) == first)
    }

    @Test("finds the right one of several images")
    func severalImages() throws {
        let own = knownFunction()
        let library = try #require(exportedAddress("qsort"))
        let images = try [#require(mappedImage(containing: library)), #require(mappedImage(containing: own))]
        let symbolicator = Symbolicator(images: images)
        let ownFrame = symbolicator.symbolicate(address: own, isReturnAddress: true).last
        #expect(ownFrame?.function?.contains("knownFunction") == true)
        #expect(symbolicator.symbolicate(address: library, isReturnAddress: false).last?.function == "qsort")
    }
}
