internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// Says which connection is being served, in memory that outlives the process.
///
/// Whatever ends a process in the middle of a callout, the next one reads here whose request was consumed and not answered: also where
/// there is no record of a fault, or where the fault was another thread's. Costs two stores for a callout.
@MainActor @safe
final class ServiceMark {
    /// A shared memory object of one number; 0 for none.
    let descriptor: CInt
    /// Which connection the process before this one was serving when it ended; 0 for none.
    let leftover: Int
    private let number: UnsafeMutablePointer<Int>

    /// Takes over the mark of the process before this one, or makes one.
    ///
    /// - Parameter kept: The object's descriptor; nil for a new object.
    /// - Throws: The error of a call.
    init(takingOver kept: CInt?) throws(Errno) {
        if let kept { descriptor = kept } else { descriptor = try Self.makeObject() }
        let size = MemoryLayout<Int>.size
        var status = stat()
        // What is shorter cannot be read: SIGBUS.
        guard unsafe fstat(descriptor, &status) == 0, status.st_size >= size,
            let memory = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            // MAP_FAILED, a macro with a cast.
            unsafe memory != UnsafeMutableRawPointer(bitPattern: -1)
        else { throw Errno(rawValue: errno) }
        unsafe number = memory.bindMemory(to: Int.self, capacity: 1)
        unsafe leftover = number.pointee
        unsafe number.pointee = 0
    }

    /// Which connection another process is serving, in a mark of its; 0 for none.
    static func number(in descriptor: CInt) -> Int {
        var number = 0
        let size = MemoryLayout<Int>.size
        return unsafe pread(descriptor, &number, size, 0) == size ? number : 0
    }

    private static func makeObject() throws(Errno) -> CInt {
        // The overlay has no memfd_create(2). Closed on exec by shm_open(3).
        let name = "/holdfast-io-\(Int(getpid()))"
        // Of a process that ended before it had unlinked its own.
        unsafe shm_unlink(name)
        let descriptor = try SystemCall.checked { unsafe shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0o600) }
        unsafe shm_unlink(name)
        try SystemCall.checked { ftruncate(descriptor, off_t(MemoryLayout<Int>.size)) }
        return descriptor
    }

    /// Notes that a connection is being served, and returns what was noted before: a callout may run the loop.
    func begin(_ connection: Int) -> Int {
        let before = unsafe number.pointee
        unsafe number.pointee = connection
        return before
    }

    /// Notes again what `begin(_:)` returned.
    func end(_ before: Int) { unsafe number.pointee = before }
}
