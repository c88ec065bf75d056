import CLinuxShims
import Glibc
public import SystemPackage

/// The calls that a store needs for its folder, beyond names and files.
extension FileDirectory {
    /// Calls a closure for each entry of the directory, in no order, with `.` and `..`.
    ///
    /// The corresponding system call is `getdents64`: 100,000 entries take some 20 ms, and no memory.
    ///
    /// - Parameter body: Gets the bytes of the name, which may be anything but `/` and zero, and the inode number. A mount point has the
    ///   number of the directory that it covers.
    /// - Throws: The error of a call.
    public func readEntries(_ body: (_ name: ArraySlice<UInt8>, _ inode: UInt64) -> Void) throws(Errno) {
        // Opened again, because each open description has one position.
        let number = descriptor.rawValue
        let flags = O_RDONLY | O_CLOEXEC | O_DIRECTORY
        let own = OwnedDescriptor(takingOver: try SystemCall.checked { unsafe openat(number, ".", flags) })
        var buffer = [UInt8](repeating: 0, count: 1 << 15)
        while true {
            let count = try SystemCall.checked {
                unsafe buffer.withUnsafeMutableBytes { bytes in
                    // An array of this size has an address.
                    unsafe bytes.baseAddress.map {
                        unsafe hf_directory_read(own.rawValue, $0, UInt(bytes.count))
                    } ?? 0
                }
            }
            guard count > 0 else { return }
            // struct linux_dirent64: d_ino (8), d_off (8), d_reclen (2), d_type (1), d_name.
            var start = 0
            while start + 19 <= count {
                let (inode, length) = unsafe buffer.withUnsafeBytes { bytes in
                    (
                        unsafe bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self),
                        Int(unsafe bytes.loadUnaligned(fromByteOffset: start + 16, as: UInt16.self))
                    )
                }
                guard length > 19, start + length <= count else { break }
                let field = buffer[(start + 19)..<(start + length)]
                body(field.prefix { $0 != 0 }, inode)
                start += length
            }
        }
    }

    /// Locks the directory like `lock`, unless somebody else has locked it.
    ///
    /// The corresponding C function is `flock` with `LOCK_NB`.
    ///
    /// - Returns: Whether it is locked now.
    /// - Throws: The error of the call.
    public func tryLock() throws(Errno) -> Bool {
        let number = descriptor.rawValue
        do {
            try SystemCall.checked { flock(number, LOCK_EX | LOCK_NB) }
            return true
        } catch .wouldBlock {
            return false
        }
    }

    /// Opens a file of the directory for reading, and for writing at its end; does not follow a symbolic link.
    ///
    /// The corresponding C function is `openat` with `O_APPEND`, and mode 0600.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - creating: Whether to make the file if there is none.
    /// - Returns: The open file.
    /// - Throws: The error of the call: `ELOOP` for a symbolic link.
    public func openForAppending(_ name: String, creating: Bool) throws(Errno) -> OwnedDescriptor {
        let number = descriptor.rawValue
        let flags = O_RDWR | O_APPEND | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW | (creating ? O_CREAT : 0)
        return OwnedDescriptor(takingOver: try SystemCall.checked { unsafe openat(number, name, flags, 0o600) })
    }

    /// Sets the permissions of a file of the directory.
    ///
    /// The corresponding C function is `fchmod`, on the file opened as by `open`.
    ///
    /// - Parameters:
    ///   - name: Its name.
    ///   - permissions: The last twelve bits of `st_mode`.
    /// - Throws: The error of a call.
    public func setPermissions(of name: String, to permissions: UInt32) throws(Errno) {
        let file = try open(name)
        let number = file.rawValue
        try SystemCall.checked { fchmod(number, mode_t(permissions)) }
    }
}

extension OwnedDescriptor {
    /// Reads bytes at an offset of the file, and keeps its position.
    ///
    /// The corresponding C function is `pread`. Makes no copy of what it reads.
    ///
    /// - Parameters:
    ///   - size: How many bytes to read at most.
    ///   - offset: Where they begin.
    /// - Returns: The bytes; fewer if the file ends before.
    /// - Throws: The error of a call.
    public func contents(_ size: Int, at offset: Int64 = 0) throws(Errno) -> [UInt8] {
        let number = rawValue
        var failure: Errno?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: max(0, size)) { buffer, done in
            do throws(Errno) {
                while done < buffer.count {
                    let start = unsafe buffer.baseAddress.map { unsafe $0 + done }
                    let count = try SystemCall.checked {
                        unsafe pread(number, start, buffer.count - done, off_t(offset) + off_t(done))
                    }
                    guard count > 0 else { break }
                    done += count
                }
            } catch {
                failure = error
            }
        }
        if let failure { throw failure }
        return bytes
    }
}
