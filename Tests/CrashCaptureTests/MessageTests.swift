import CCrashCapture
import CrashCapture
import Glibc
import TestSupport
import Testing

/// The texts of the Swift runtime and of glibc, when the fault that they tell of was resumed.
@Suite(.timeLimit(.minutes(10))) struct MessageTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Where the runtime keeps its text (swift/stdlib/public/runtime/Errors.cpp).
    private typealias TextBuffer = @convention(c) () -> UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>?

    @Test func `The runtime's text is forgotten, and stays for a thread that is reading it`() async {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let capture = try CaptureChild.install(path) { _ in Decision(.terminate, because: "") }
            let function = try #require(dlsym(nil, "swift_getFatalErrorMessageBuffer"))
            let buffer = try #require(unsafeBitCast(function, to: TextBuffer.self)())
            let text = try #require(strdup("Fatal error: what another thread is about to append to"))
            let copy = String(cString: text)
            buffer.pointee = text
            capture.clearMessages()
            #expect(buffer.pointee == nil)
            // What was freed would be the next of its size (malloc(3), thread caches).
            let later = (0..<16).map { _ in malloc(strlen(text) + 1) }
            #expect(!later.contains(UnsafeMutableRawPointer(text)))
            for case let memory? in later { memset(memory, 0x58, strlen(copy) + 1) }
            #expect(String(cString: text) == copy)
        }
    }

    @Test func `glibc's text is not written to: another thread that aborts unmaps it`() async {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            let capture = try CaptureChild.install(path) { _ in Decision(.terminate, because: "") }
            let variable = try #require(dlsym(nil, "__abort_msg")).assumingMemoryBound(to: UnsafeRawPointer?.self)
            variable.pointee = UnsafeRawPointer(mmap(nil, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
            capture.clearMessages()
        }
    }
}
