import CLinuxShims

/// Hints to the processor about memory that is about to be used.
public enum Prefetch {
    /// Asks for the first three cache lines of an object, without waiting for them.
    ///
    /// Only a hint: any address will do, also one of nothing.
    ///
    /// - Parameter address: Where the object is.
    @inline(__always)
    public static func object(at address: UInt) {
        hf_prefetch_lines(address)
    }
}
