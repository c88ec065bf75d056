import AllocationCounter
import CrashCapture
import Glibc
import Synchronization

private let arrived = Atomic<Int>(0)

/// Counts what the allocator does from a fault to the end of its process, while the other threads are sampled.
enum SampleProbe {
    /// A function of the program, which has been called before.
    @inline(never)
    private static func write(to page: UnsafeMutableRawPointer?) {
        page?.storeBytes(of: 1, as: UInt8.self)
    }

    /// Commits a fault, and ends the process in the handler that stood before capture.
    ///
    /// - Parameter origin: Where all functions of the program are said to come from.
    /// - Throws: `CrashCaptureError`.
    static func run(origin: CodeOrigin) throws -> Never {
        signal(SIGSEGV) { _ in
            let count = hf_allocation_count_end()
            print(0, count.allocations, count.reallocations, count.frees, count.lookups)
            hf_allocation_count_print_origins()
            exit(0)
        }
        var template = Array("/tmp/verdict-probe-XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { exit(1) }
        let folder = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let capture = try CrashCapture(
            CrashCapture.Configuration(spoolFolder: folder, verdictAtDeadline: .terminate, version: "test"),
            inspection: CodeInspection(origin: { _ in origin }, uncountedLock: { _ in .none }),
            decide: { _ in Decision(.terminate, because: "it is counted") },
            decided: { _, _ in },
            recorded: { _ in }
        )
        CrashCapture.awaitCrashThread()
        for _ in 0..<8 {
            var thread = pthread_t()
            pthread_create(
                &thread,
                nil,
                { _ in
                    arrived.add(1, ordering: .releasing)
                    while true { pause() }
                },
                nil
            )
        }
        // To begin a thread allocates.
        while arrived.load(ordering: .acquiring) < 8 { sched_yield() }
        _ = unlink(capture.spoolPath)
        _ = rmdir(folder)
        withExtendedLifetime(capture) {
            // A page of its own, which nothing may write. A read whose value nobody wants would be optimised away.
            let page = mmap(nil, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
            var byte: UInt8 = 0
            write(to: &byte)
            hf_allocation_count_begin()
            write(to: page)
        }
        exit(1)
    }
}
