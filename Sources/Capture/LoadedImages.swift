internal import CCrashCapture
internal import Symbolication

/// The images of the process, as a fixed table that needs no lock to read.
@safe struct LoadedImages: ~Copyable {
    private let spool: UnsafeMutablePointer<HFSpoolHeader>
    private let entries: UnsafeMutablePointer<HFLoadedImage>
    private let capacity: Int
    private(set) var count: Int

    /// Lists the images.
    init(spool: UnsafeMutablePointer<HFSpoolHeader>) {
        unsafe self.spool = unsafe spool
        capacity = unsafe Int(spool.pointee.image_capacity)
        unsafe entries = .allocate(capacity: capacity)
        unsafe entries.initialize(repeating: HFLoadedImage(), count: capacity)
        count = 0
        refresh()
    }

    deinit {
        unsafe entries.deallocate()
    }

    /// Lists the images again, because an address lies in none of them; takes the loader's lock.
    mutating func refresh() {
        count = unsafe Int(hf_loaded_images_snapshot(spool, entries, UInt32(capacity)))
    }

    /// The image that an address lies in; valid until the next refresh.
    func image(at address: UInt64) -> UnsafePointer<HFLoadedImage>? {
        for index in 0..<count {
            let image = unsafe entries + index
            if unsafe address >= image.pointee.base && address < image.pointee.end {
                return unsafe UnsafePointer(image)
            }
        }
        return nil
    }

    /// Where the Swift runtime's library for tasks is; empty if there is none, or if it is a part of the program.
    var concurrencyLibrary: Range<UInt64> {
        var start: UInt64 = 0
        var end: UInt64 = 0
        guard unsafe hf_function_bounds("swift_job_run", &start, &end) == 0, let image = unsafe image(at: start),
            unsafe image.pointee.kind != .application
        else { return 0..<0 }
        return unsafe image.pointee.base..<image.pointee.end
    }

    /// Whether an address lies in the code of an image.
    func isCode(_ address: UInt64) -> Bool {
        guard let image = unsafe image(at: address) else { return false }
        return unsafe address >= image.pointee.code.0 && address < image.pointee.code.1
    }

    /// Whether `count` bytes at an address lie in a segment that is mapped for reading only, so that a load cannot fault.
    func isReadOnlyImageMemory(_ address: UInt64, count: UInt64) -> Bool {
        guard let image = unsafe image(at: address) else { return false }
        let segments = unsafe image.pointee.segments
        let count32 = unsafe image.pointee.segment_count
        return Self.contains(segments.0, address, count) && count32 > 0
            || Self.contains(segments.1, address, count) && count32 > 1
            || Self.contains(segments.2, address, count) && count32 > 2
            || Self.contains(segments.3, address, count) && count32 > 3
    }

    private static func contains(_ segment: (UInt64, UInt64), _ address: UInt64, _ count: UInt64) -> Bool {
        address >= segment.0 && address < segment.1 && segment.1 - address >= count
    }
}

/// The addresses of a list of functions that other images export.
///
/// Looked up once: the loader's lock may be held when a fault is judged.
@safe
struct FunctionRanges {
    /// Starts and ends, one after the other, never freed: in -Onone builds, going through an array would allocate.
    private let bounds: UnsafeMutablePointer<UInt64>
    private let count: Int

    /// Looks the functions up by symbol name; a missing one is left out.
    ///
    /// - Parameters:
    ///   - names: Their names.
    ///   - hidden: Those before which a function of the executable stands: the library's is meant.
    init(_ names: [String], behindOurs hidden: Set<String> = []) {
        unsafe bounds = .allocate(capacity: 2 * names.count)
        var count = 0
        for name in names {
            var start: UInt64 = 0
            var end: UInt64 = 0
            let isMissing =
                hidden.contains(name)
                ? unsafe hf_linked_function_bounds(name, &start, &end) != 0
                : unsafe hf_function_bounds(name, &start, &end) != 0
            guard !isMissing, start < end else { continue }
            unsafe (bounds + 2 * count).initialize(to: start)
            unsafe (bounds + 2 * count + 1).initialize(to: end)
            count += 1
        }
        self.count = count
    }

    /// Whether an address lies in one of the functions.
    func contain(_ address: UInt64) -> Bool {
        var index = 0
        while index < count {
            if unsafe address >= bounds[2 * index], unsafe address < bounds[2 * index + 1] { return true }
            index += 1
        }
        return false
    }

    /// How the Swift runtime ends a process whose own code is at fault.
    static var swiftFailures: FunctionRanges { FunctionRanges(RuntimeFunctions.failures) }

    /// How the Swift runtime ends a program whose main function or top level throws.
    static var errorInMain: FunctionRanges { FunctionRanges(RuntimeFunctions.errorInMain) }

    /// Functions of C that only ask the kernel to wait or to move bytes: a thread that is interrupted in one of them holds nothing.
    ///
    /// Their system calls are those of `hf_async_is_plain_system_call()`.
    static var waitFunctions: FunctionRanges {
        FunctionRanges(
            [
                "read", "pread", "pread64", "readv", "preadv", "write", "pwrite", "pwrite64", "writev", "pwritev",
                "recv", "recvfrom", "recvmsg", "recvmmsg", "send", "sendto", "sendmsg", "sendmmsg",
                "accept", "accept4", "connect",
                "poll", "ppoll", "select", "pselect", "epoll_wait", "epoll_pwait", "epoll_pwait2",
                "nanosleep", "clock_nanosleep", "usleep", "sleep",
                "wait", "wait3", "wait4", "waitpid", "waitid",
                "pause", "sigsuspend", "sigtimedwait", "sigwaitinfo",
            ],
            // Ours leaves no frame (order_tracking.c).
            behindOurs: ["read"]
        )
    }

    /// How C ends a process whose own code is at fault.
    static var abortFunctions: FunctionRanges {
        FunctionRanges(["abort", "__assert_fail", "__assert"])
    }
}
