import Glibc
public import SystemPackage

/// A socket that listens under a name, and the file of that name.
///
/// The file of a dead listener is replaced; that of a live one is not. The file is removed at the end of this object's life, if it is still
/// the same.
public final class UnixSocketListener: Sendable {
    private let descriptor: OwnedDescriptor
    private let file: File?

    /// The identity of a file, which another one with the same name does not have.
    private struct File: Equatable {
        let path: FilePath
        let device: UInt
        let number: UInt
        let isSocket: Bool

        init?(at path: FilePath) {
            var status = stat()
            guard unsafe path.withPlatformString({ unsafe lstat($0, &status) }) == 0 else { return nil }
            self.path = path
            device = UInt(status.st_dev)
            number = UInt(status.st_ino)
            isSocket = status.st_mode & S_IFMT == S_IFSOCK
        }

        /// Removes the name if it is still that of this file; returns whether it was.
        ///
        /// The file is first moved aside: if somebody takes the name meanwhile, nothing is lost.
        func remove() -> Bool {
            let aside = FilePath("\(path.string).\(getpid())-\(device)-\(number)")
            let isMoved = unsafe path.withPlatformString { path in
                unsafe aside.withPlatformString { unsafe rename(path, $0) } == 0
            }
            guard isMoved else { return false }
            let moved = File(at: aside)
            let isSame = moved?.device == device && moved?.number == number
            unsafe aside.withPlatformString { aside in
                if !isSame {
                    // Another file: it gets its name back, unless the name was taken again.
                    unsafe path.withPlatformString { _ = unsafe link(aside, $0) }
                }
                _ = unsafe unlink(aside)
            }
            return isSame
        }
    }

    /// Makes a socket that listens under a name.
    ///
    /// - Parameter address: The name; a file is made with mode 0600.
    /// - Throws: The error of a call: `EADDRINUSE` if somebody listens there or the file is no socket, `ENAMETOOLONG` if the name is not
    ///   valid, `EACCES`.
    public init(at address: UnixSocketAddress) throws(Errno) {
        do {
            descriptor = try PacketSocket.listen(at: address)
        } catch .addressInUse {
            guard Self.removeDeadFile(address) else { throw .addressInUse }
            descriptor = try PacketSocket.listen(at: address)
        }
        // Absolute, because the working directory may be another one when the file is removed.
        if case .path(let path) = address { file = File(at: path.fromRoot) } else { file = nil }
    }

    deinit {
        // Before the descriptor is closed: until then nobody takes the file for a dead listener's.
        _ = file?.remove()
    }

    /// The number of the descriptor, which does not block.
    public var rawValue: CInt { descriptor.rawValue }

    /// Removes the file of a dead listener; returns whether it did.
    package static func removeDeadFile(_ address: UnixSocketAddress) -> Bool {
        guard case .path(let path) = address, let file = File(at: path.fromRoot), file.isSocket else { return false }
        do {
            // A live listener has room at once, or lets us wait. It sees a connection that says nothing.
            _ = try PacketSocket.connect(to: address, before: .min)
            return false
        } catch .connectionRefused {
            return file.remove()
        } catch {
            return false
        }
    }
}
