internal import Glibc
internal import SystemPackage

/// Which file a descriptor is open on: its number may be another's tomorrow.
struct FileIdentity: Hashable {
    var device: UInt64
    var inode: UInt64
    var mode: UInt32

    init(device: UInt64, inode: UInt64, mode: UInt32) {
        self.device = device
        self.inode = inode
        self.mode = mode
    }

    /// - Throws: `EBADF`.
    init(of descriptor: CInt) throws(Errno) {
        var status = stat()
        guard unsafe fstat(descriptor, &status) == 0 else { throw Errno(rawValue: errno) }
        device = UInt64(status.st_dev)
        inode = UInt64(status.st_ino)
        mode = UInt32(status.st_mode)
    }
}
