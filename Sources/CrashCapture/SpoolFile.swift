internal import CCrashCapture
internal import Glibc
internal import SystemPackage

/// The file that this process's fault records are written to, mapped so that they outlive it.
///
/// The file is locked (flock(2)) as long as the process lives under this executable image: a lock that can be had means that
/// the writer died or was replaced, and that whoever holds the lock may finish its records.
@safe
struct SpoolFile {
    /// Faults that can wait for their reports at one time.
    static var slotCount: Int { 64 }
    static var imageCapacity: Int { 256 }

    let header: UnsafeMutablePointer<HFSpoolHeader>
    let size: Int
    private let descriptor: CInt
    let path: String

    /// Makes the spool folder, 0700, and the file in it, 0600.
    ///
    /// The file appears under its name only when it is locked and its header is complete.
    init(folder: String, identity: ProcessIdentity) throws(CrashCaptureError) {
        let imageOffset = (MemoryLayout<HFSpoolHeader>.size + 63) & ~63
        let slotOffset = (imageOffset + MemoryLayout<HFImage>.size * Self.imageCapacity + 63) & ~63
        size = slotOffset + MemoryLayout<HFRecord>.size * Self.slotCount
        path = "\(folder)/\(identity.pid)-\(identity.startUnixNanoseconds).spool"
        let temporary = "\(folder)/.\(identity.pid)-\(identity.startUnixNanoseconds).tmp"

        if unsafe mkdir(folder, 0o700) != 0, errno != EEXIST {
            throw CrashCaptureError(.spool, path: folder, Errno(rawValue: errno))
        }
        let flags = O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC
        descriptor = unsafe open(temporary, flags, 0o600)
        guard descriptor >= 0 else { throw CrashCaptureError(.spool, path: temporary, Errno(rawValue: errno)) }
        // posix_fallocate: a page that cannot be written later, because the disk is full, would be a SIGBUS in the handler.
        errno = posix_fallocate(descriptor, 0, off_t(size))
        guard errno == 0, flock(descriptor, LOCK_EX | LOCK_NB) == 0,
            let mapping = unsafe mmap(nil, size, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0),
            unsafe mapping != MAP_FAILED
        else {
            let error = Errno(rawValue: errno)
            close(descriptor)
            _ = unsafe unlink(temporary)
            throw CrashCaptureError(.spool, path: temporary, error)
        }
        unsafe header = mapping.assumingMemoryBound(to: HFSpoolHeader.self)
        unsafe header.pointee.image_offset = UInt32(imageOffset)
        unsafe header.pointee.slot_offset = UInt32(slotOffset)
        unsafe identity.write(to: header)
        guard unsafe rename(temporary, path) == 0 else {
            let error = Errno(rawValue: errno)
            _ = unsafe unlink(temporary)
            throw CrashCaptureError(.spool, path: path, error)
        }
    }

    /// Removes the file: for a process that ends in order and left no record.
    func remove() {
        _ = unsafe unlink(path)
    }
}
