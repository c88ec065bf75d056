internal import Glibc

/// Lists of C strings, as execve(2) takes them, in memory that a signal handler can read.
enum CStringList {
    /// Copies strings into a list that ends with a null pointer.
    static func make(_ strings: [[UInt8]]) -> UnsafePointer<UnsafeMutablePointer<CChar>?> {
        let list = UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>.allocate(capacity: strings.count + 1)
        for (index, string) in strings.enumerated() {
            unsafe (list + index).initialize(to: copy(string))
        }
        unsafe (list + strings.count).initialize(to: nil)
        return unsafe UnsafePointer(list)
    }

    /// Copies a string and ends it with a NUL.
    static func copy(_ string: [UInt8]) -> UnsafeMutablePointer<CChar> {
        let bytes = UnsafeMutablePointer<CChar>.allocate(capacity: string.count + 1)
        for (index, byte) in string.enumerated() { unsafe (bytes + index).initialize(to: CChar(bitPattern: byte)) }
        unsafe (bytes + string.count).initialize(to: 0)
        return unsafe bytes
    }

    /// Frees a list that nobody reads any more.
    static func free(_ list: UnsafePointer<UnsafeMutablePointer<CChar>?>) {
        var next = unsafe list
        while let string = unsafe next.pointee {
            unsafe string.deallocate()
            unsafe next += 1
        }
        unsafe UnsafeMutablePointer(mutating: list).deallocate()
    }
}
