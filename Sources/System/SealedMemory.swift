import CLinuxShims
import Glibc
public import SystemPackage

/// Bytes in memory that nobody can change any more, handed on as a descriptor: a sealed memfd.
public enum SealedMemory {
    /// Why a received descriptor is not accepted as sealed memory.
    public enum Refusal: Error, Sendable, Hashable {
        /// It is no memfd, or it can still be written to, shortened or extended.
        case notSealed
        /// It does not have the size that was announced.
        case wrongSize
        /// It cannot be read.
        case unreadable(Errno)
    }

    /// Puts bytes into memory and seals it.
    ///
    /// The corresponding C functions are `memfd_create` and `fcntl` with `F_ADD_SEALS`.
    ///
    /// - Parameter bytes: The bytes.
    /// - Returns: The descriptor, closed on exec.
    /// - Throws: The error of a call: `EMFILE`, `ENFILE`, `ENOMEM`, or `EFBIG` where RLIMIT_FSIZE is lower.
    public static func make(_ bytes: [UInt8]) throws(Errno) -> OwnedDescriptor {
        let number = try SystemCall.checked { hf_memory_create() }
        let descriptor = OwnedDescriptor(takingOver: number)
        try FileSizeLimit.withoutSignal { () throws(Errno) in try descriptor.writeAll(bytes) }
        try SystemCall.checked { hf_memory_seal(number) }
        return descriptor
    }

    /// Reads bytes that another process sealed.
    ///
    /// The corresponding C functions are `fcntl` with `F_GET_SEALS`, `fstat` and `pread`, which cannot fault as a mapping can.
    ///
    /// - Parameters:
    ///   - number: Any descriptor.
    ///   - size: How many bytes it was announced to hold.
    /// - Returns: The bytes.
    /// - Throws: `Refusal`.
    public static func read(_ number: CInt, size: Int) throws(Refusal) -> [UInt8] {
        guard hf_memory_is_sealed(number) else { throw .notSealed }
        var status = stat()
        guard unsafe fstat(number, &status) == 0, Int(status.st_size) == size else { throw .wrongSize }
        var failure: Errno?
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            while count < size {
                let position = off_t(count)
                let rest = unsafe UnsafeMutableBufferPointer(rebasing: buffer[count...])
                do throws(Errno) {
                    let more = try SystemCall.checked { unsafe pread(number, rest.baseAddress, rest.count, position) }
                    guard more > 0 else { throw .ioError }
                    count += more
                } catch {
                    failure = error
                    return
                }
            }
        }
        if let failure { throw .unreadable(failure) }
        return bytes
    }
}
