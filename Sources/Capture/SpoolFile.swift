internal import CCrashCapture
internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// The file for the records of this process's faults, mapped so that they outlive it.
///
/// The file is locked (flock(2)) while the process lives under this executable image. If another process gets the lock, the writer has died
/// or was replaced, and that process may finish its records.
@safe
struct SpoolFile {
    /// How many faults can wait for their reports at one time.
    static var slotCount: Int { 256 }
    static var imageCapacity: Int { 256 }

    let header: UnsafeMutablePointer<HFSpoolHeader>
    let size: Int
    /// The descriptor of the file, or of memory (memfd_create(2)); -1 for neither.
    let descriptor: CInt
    /// Whether there is a file; if not, there is memory.
    private let isFile: Bool
    let path: String
    /// The sections for what only some records have.
    private let sections: SpoolSections

    /// Whether the records outlive the process: not if the disk was full.
    var isPersistent: Bool { isFile }

    /// The descriptor of memory that the next process can read; nil if there is a file, or no such memory.
    var memoryDescriptor: CInt? { !isFile && descriptor >= 0 ? descriptor : nil }

    /// Makes the spool folder, 0700, and the file in it, 0600.
    ///
    /// The file appears under its name only when it is locked and its header is complete. If the disk is full, the records are in memory
    /// only: an agent that cannot start is worse than one whose last report is lost.
    ///
    /// - Parameters:
    ///   - folder: The spool folder; nil for none, and records in memory only.
    ///   - identity: What the header says of the process.
    ///   - told: What of the process's context may be told.
    ///   - hasMemory: Whether there is room for memory contents.
    /// - Throws: `CrashCaptureError`.
    init(
        folder: String?,
        identity: ProcessIdentity,
        telling told: ToldContext,
        hasMemory: Bool = false
    ) throws(CrashCaptureError) {
        let imageOffset = (MemoryLayout<HFSpoolHeader>.size + 63) & ~63
        let slotOffset = (imageOffset + MemoryLayout<HFImage>.size * Self.imageCapacity + 63) & ~63
        sections = SpoolSections(
            after: slotOffset + MemoryLayout<HFRecord>.size * Self.slotCount,
            hasMemory: hasMemory
        )
        let contextOffset = (sections.end + 63) & ~63
        size = contextOffset + hf_context_section_size()
        path = "\(folder ?? "")/\(identity.pid)-\(identity.startUnixNanoseconds).spool"
        let temporary = "\(folder ?? "")/.\(identity.pid)-\(identity.startUnixNanoseconds).tmp"

        if let folder, unsafe mkdir(folder, 0o700) != 0, errno != EEXIST, !Self.isFull(errno) {
            throw CrashCaptureError(.spool, path: folder, Errno(rawValue: errno))
        }
        let file = folder == nil ? -1 : try Self.makeFile(temporary, size)
        isFile = file >= 0
        let bytes = UInt64(size)
        descriptor = isFile ? file : FileSizeLimit.withoutSignal { hf_capture_make_memory_spool(bytes) }
        let flags = descriptor >= 0 ? MAP_SHARED : MAP_SHARED | MAP_ANONYMOUS
        let mapping = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, flags, descriptor, 0)
        guard let mapping = unsafe mapping, unsafe mapping != MAP_FAILED else {
            let error = Errno(rawValue: errno)
            Self.discard(temporary, descriptor)
            throw CrashCaptureError(.spool, path: temporary, error)
        }
        // A forked child must not inherit the mapping: it would keep the file open, and with it the lock.
        unsafe madvise(mapping, size, MADV_DONTFORK)
        // Nothing is in it yet: reading ahead of the first page that is touched takes a millisecond.
        unsafe madvise(mapping, size, MADV_RANDOM)
        unsafe header = mapping.assumingMemoryBound(to: HFSpoolHeader.self)
        unsafe header.pointee.image_offset = UInt32(imageOffset)
        unsafe header.pointee.slot_offset = UInt32(slotOffset)
        unsafe sections.write(to: header)
        unsafe header.pointee.context_offset = UInt32(contextOffset)
        unsafe header.pointee.context_size = UInt32(hf_context_section_size())
        unsafe hf_context_lay_out(header)
        unsafe told.write(to: header)
        unsafe identity.write(to: header)
        guard unsafe !isFile || rename(temporary, path) == 0 else {
            let error = Errno(rawValue: errno)
            Self.discard(temporary, descriptor)
            throw CrashCaptureError(.spool, path: path, error)
        }
    }

    /// Makes the file, locked and with all its pages; -1 when the disk is full.
    private static func makeFile(_ path: String, _ size: Int) throws(CrashCaptureError) -> CInt {
        let descriptor = unsafe open(path, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else {
            if isFull(errno) { return -1 }
            throw CrashCaptureError(.spool, path: path, Errno(rawValue: errno))
        }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let error = Errno(rawValue: errno)
            discard(path, descriptor)
            throw CrashCaptureError(.spool, path: path, error)
        }
        // If the disk is full, a page that is written later would be a SIGBUS in the handler.
        let error = FileSizeLimit.withoutSignal { posix_fallocate(descriptor, 0, off_t(size)) }
        if error == 0 { return descriptor }
        discard(path, descriptor)
        if isFull(error) { return -1 }
        throw CrashCaptureError(.spool, path: path, Errno(rawValue: error))
    }

    private static func isFull(_ error: CInt) -> Bool {
        error == ENOSPC || error == EDQUOT || error == EFBIG
    }

    private static func discard(_ path: String, _ descriptor: CInt) {
        guard descriptor >= 0 else { return }
        close(descriptor)
        _ = unsafe unlink(path)
    }

    /// Closes the file, for a capture that does not take it over.
    func closeFile() {
        if descriptor >= 0 { close(descriptor) }
    }

    /// Removes the file, for a process that ends in order and left no record.
    func remove() {
        guard isPersistent else { return }
        _ = unsafe unlink(path)
    }
}

/// Where the sections lie in a spool file that only some records need: snapshots of the other threads, and memory.
private struct SpoolSections {
    private let snapshotOffset: Int
    private let memoryOffset: Int
    private let memoryCount: Int
    /// One past the last byte.
    let end: Int

    /// Lays them out from an offset on, each on a multiple of 64 bytes.
    init(after offset: Int, hasMemory: Bool) {
        snapshotOffset = (offset + 63) & ~63
        memoryOffset = (snapshotOffset + MemoryLayout<HFThreadSnapshot>.size * Int(HF_SNAPSHOT_COUNT) + 63) & ~63
        memoryCount = hasMemory ? Int(HF_MEMORY_AREA_COUNT) : 0
        end = memoryOffset + MemoryLayout<HFMemoryArea>.size * memoryCount
    }

    /// Names the sections in the header.
    func write(to header: UnsafeMutablePointer<HFSpoolHeader>) {
        unsafe header.pointee.snapshot_offset = UInt32(snapshotOffset)
        unsafe header.pointee.snapshot_size = UInt32(MemoryLayout<HFThreadSnapshot>.size)
        unsafe header.pointee.snapshot_count = UInt32(HF_SNAPSHOT_COUNT)
        unsafe header.pointee.thread_entry_size = UInt32(MemoryLayout<HFThreadEntry>.size)
        unsafe header.pointee.memory_offset = UInt32(memoryOffset)
        unsafe header.pointee.memory_size = UInt32(MemoryLayout<HFMemoryArea>.size)
        unsafe header.pointee.memory_count = UInt32(memoryCount)
    }
}
