import CCrashCapture
import Glibc

@testable import CrashCapture

extension StackWalker {
    /// A walker of this process, with a list of images that belongs to no spool file; nil without libunwind.
    static func own() -> StackWalker? {
        let size = 4 << 20
        let header = UnsafeMutableRawPointer.allocate(byteCount: size, alignment: 4096)
        memset(header, 0, size)
        let spool = header.assumingMemoryBound(to: HFSpoolHeader.self)
        spool.pointee.image_offset = 4096
        spool.pointee.image_capacity = 256
        return StackWalker(spool: spool)
    }
}
