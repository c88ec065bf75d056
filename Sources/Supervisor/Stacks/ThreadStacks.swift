internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import Synchronization
internal import SystemPackage

/// The stacks of another process's threads, read from outside.
///
/// For programs without Holdfast: ptrace(2). Each thread stands still for as long as that takes. It needs the permission to trace: that of a parent whose child has the same user, unless the machine
/// allows nobody (`kernel.yama.ptrace_scope` at 2 or more).
struct ThreadStacks {
    /// How long a thread may take to stand still, in milliseconds: one that waits for a disk does not.
    private static let patience: CInt = 100
    /// How long all of them may take together, in nanoseconds: the process is about to be ended.
    private static let budget: Int64 = 2_000_000_000

    private let pid: CInt
    private let memory: RemoteMemory
    private var images: LoadedImages
    private let deadline = MonotonicClock.nanoseconds + budget
    /// An address within the instruction of each frame, innermost first.
    private(set) var stacks: [(thread: CInt, addresses: [UInt64])] = []
    private var problems: [CInt: String] = [:]

    /// Reads the stacks of threads, on a thread of its own.
    ///
    /// When that ends, the kernel lets go of whatever it still traces (ptrace(2)): a thread that did not stand still in time.
    ///
    /// - Parameters:
    ///   - threads: The threads, as gettid(2) has them.
    ///   - pid: Their process.
    /// - Returns: By thread, a line for each frame, innermost first, or one that says why there are none.
    static func lines(_ threads: [CInt], of pid: CInt) -> [CInt: [String]] {
        let found = Found()
        let reader = try? NativeThread(name: "holdfast-stacks") {
            let lines = ThreadStacks(threads, of: pid).lines()
            found.lines.withLock { $0 = lines }
        }
        reader?.join()
        return found.lines.withLock { $0 }
    }

    private final class Found: Sendable {
        let lines = Mutex<[CInt: [String]]>([:])
    }

    /// Reads the stacks of threads, which the caller's thread traces.
    ///
    /// - Parameters:
    ///   - threads: The threads, as gettid(2) has them.
    ///   - pid: Their process.
    init(_ threads: some Sequence<CInt>, of pid: CInt) {
        self.pid = pid
        memory = RemoteMemory { address in
            let bytes = unsafe [UInt8](unsafeUninitializedCapacity: 4096) { buffer, filled in
                guard let place = buffer.baseAddress else { return }
                filled = unsafe max(0, hf_process_read(pid, address, place, 4096))
            }
            return bytes.count == 4096 ? bytes : nil
        }
        images = LoadedImages(maps: SmallFile.text("/proc/\(pid)/maps") ?? "", memory)
        for thread in threads { read(thread) }
    }

    private mutating func read(_ thread: CInt) {
        guard MonotonicClock.nanoseconds < deadline else {
            problems[thread] = "stack not read: there was no more time"
            return
        }
        let registers = unsafe [UInt64](unsafeUninitializedCapacity: Int(HF_TRACED_REGISTERS)) { buffer, filled in
            guard let place = buffer.baseAddress else { return }
            filled = unsafe hf_trace_stop(thread, Self.patience, place) == 0 ? Int(HF_TRACED_REGISTERS) : 0
        }
        guard !registers.isEmpty else {
            problems[thread] =
                "stack not read: \(errno == ETIMEDOUT ? "it does not stand still" : "\(Errno(rawValue: errno))")"
            return
        }
        // The other threads go on, and may write into pages that were read.
        memory.forget()
        stacks.append((thread, RemoteStack.walk(registers, &images, memory)))
        hf_trace_detach(thread)
    }

    /// A line for each frame of each thread, innermost first, or one that says why there are none.
    func lines() -> [CInt: [String]] {
        let addresses = Set(stacks.flatMap(\.addresses))
        var images = images
        var places: [UInt64: Int] = [:]
        for address in addresses { places[address] = images.index(of: address) }
        var names: [UInt64: SymbolNames.Name] = [:]
        for (index, group) in Dictionary(grouping: places.keys, by: { places[$0] }) {
            guard let index else { continue }
            let image = images.images[index]
            // The process's own view of the files, which may be a container's.
            let found = SymbolNames.find(group.map { $0 &- image.bias }, in: "/proc/\(pid)/root\(image.path)")
            for address in group { names[address] = found[address &- image.bias] }
        }
        var lines = problems.mapValues { ["  \($0)"] }
        for stack in stacks {
            lines[stack.thread] = stack.addresses.enumerated().map { number, address in
                let image = places[address].map { images.images[$0] }
                return "  \(number) " + Self.text(address, image, names[address])
            }
        }
        return lines
    }

    private static func text(_ address: UInt64, _ image: LoadedImages.Image?, _ name: SymbolNames.Name?) -> String {
        guard let image else { return "0x" + String(address, radix: 16) }
        let place = "\(image.name)+0x\(String(address &- image.base, radix: 16))"
        return name.map { "\($0.text) in \(place)" } ?? place
    }
}
