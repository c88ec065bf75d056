import CCrashCapture
import Glibc
import Testing

/// The bounds of exported functions, beside what dladdr(3) says of the addresses in them.
struct FunctionBoundsTests {
    @Test(
        arguments: [
            "swift_retain", "swift_task_create", "swift_job_run", "malloc", "abort", "pthread_mutex_lock", "write",
            "getpid", "$ss18_fatalErrorMessage__4file4line5flagss5NeverOs12StaticStringV_A2HSus6UInt32VtF",
        ]
    )
    func `They are those of the symbol`(name: String) throws {
        var (start, end): (UInt64, UInt64) = (0, 0)
        try #require(hf_function_bounds(name, &start, &end) == 0)
        let address = try #require(dlsym(UnsafeMutableRawPointer(bitPattern: 0), name))
        #expect(start == UInt64(UInt(bitPattern: address)) && start < end)
        #expect(Self.start(ofFunctionAt: end - 1) == start)
        #expect(Self.start(ofFunctionAt: end) != start)
    }

    @Test func `A function that nobody exports has none`() {
        var (start, end): (UInt64, UInt64) = (0, 0)
        #expect(hf_function_bounds("no such function", &start, &end) == -1)
        #expect(hf_capture_runtime_is_dynamic())
    }

    private static func start(ofFunctionAt address: UInt64) -> UInt64? {
        var found = FoundSymbol()
        guard dladdr(UnsafeRawPointer(bitPattern: UInt(address)), &found) != 0 else { return nil }
        return found.address.map { UInt64(UInt(bitPattern: $0)) }
    }
}

/// `Dl_info`.
private struct FoundSymbol {
    var file: UnsafePointer<CChar>?
    var base: UnsafeRawPointer?
    var name: UnsafePointer<CChar>?
    var address: UnsafeRawPointer?
}

/// The C library's: its header is in no module.
@_silgen_name("dladdr")
private func dladdr(_ address: UnsafeRawPointer?, _ found: UnsafeMutablePointer<FoundSymbol>) -> CInt
