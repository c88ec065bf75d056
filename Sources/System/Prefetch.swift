import CLinuxShims

/// Hints to the processor about memory that is about to be used.
public enum Prefetch {
    /// Asks for the first three cache lines of an object, without waiting for them.
    ///
    /// Only a hint: any address will do, even an invalid one.
    ///
    /// - Parameter address: The address of the object.
    @inline(__always)
    public static func object(at address: UInt) {
        hf_prefetch_lines(address)
    }
}
