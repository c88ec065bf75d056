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

    private static let leak =
        "SWIFT TASK CONTINUATION MISUSE: main() leaked its continuation without resuming it. "
        + "This may cause tasks waiting on it to remain suspended forever.\n"
    private static let fatal = "app/main.swift:4: Fatal error: Index out of range\n"
    /// Several lines, of which one tells what a leak tells.
    private static let conflict =
        "Simultaneous accesses to 0x7f00, but modification requires exclusive access.\n"
        + "Previous access (a modification) started at app`main + 7 (0x55).\nit leaked its continuation\n"
    private static let misuse =
        "_Concurrency/CheckedContinuation.swift:172: Fatal error: SWIFT TASK CONTINUATION MISUSE: f() tried to resume its "
        + "continuation more than once, returning ()!\n"
    /// A function may have any name (SE-0451).
    private static let named = leak.replacing("main()", with: "`leaked its l` leaked()")

    private static let many = String(repeating: leak, count: 500)
    private static let long = String(repeating: "x", count: 2000)

    /// The runtime's text, and what belongs to the fault.
    private static let texts: [(String, String)] = [
        ("", ""), (fatal, fatal), (conflict, conflict), (misuse, misuse), ("\n", "\n"), ("no end", "no end"),
        (leak, ""), (many, ""), (named, ""),
        (leak + fatal, fatal), (leak + conflict, conflict), (leak + misuse, misuse), (leak + "no end", "no end"),
        (fatal + leak, fatal), (many + fatal + many, fatal), (fatal + leak + conflict, conflict),
        ("no end" + leak, "no end" + leak), ("SWIFT TASK CONTINUATION MIS", "SWIFT TASK CONTINUATION MIS"),
        (leak + long, String(long.prefix(1023))), (long + "\n" + leak + fatal + leak, fatal),
    ]

    @Test(arguments: texts)
    func `A fault has the runtime's last text that is no warning, with all lines`(text: String, expected: String) {
        var copy = [CChar](repeating: 0x58, count: 1024)
        let length = hf_async_copy_fatal_error(&copy, copy.count, text)
        #expect(length == expected.utf8.count)
        #expect(String(decoding: copy.prefix(length).map { UInt8(bitPattern: $0) }, as: UTF8.self) == expected)
        #expect(copy[length] == 0)
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
