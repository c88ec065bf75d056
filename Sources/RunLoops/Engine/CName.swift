import Glibc
import Synchronization

/// A NUL-terminated name at a fixed address, which a signal handler can read: never freed.
@safe
struct CName: @unchecked Sendable {
    let pointer: UnsafePointer<CChar>

    /// By text, the addresses of the names that live as long as the process.
    private static let interned = Mutex<[String: UInt]>([:])

    /// Returns the one name with this text that is never freed: a crash report may still point to it.
    static func interned(_ text: String) -> CName {
        let address = interned.withLock { names in
            if let address = names[text] { return address }
            let address = unsafe UInt(bitPattern: copy(text))
            names[text] = address
            return address
        }
        guard let pointer = unsafe UnsafePointer<CChar>(bitPattern: address) else {
            preconditionFailure("an interned name has no address")
        }
        return unsafe CName(pointer: pointer)
    }

    /// Returns a copy that whoever asked for it frees.
    static func copy(_ text: String) -> UnsafePointer<CChar> {
        guard let copy = unsafe strdup(text) else {
            preconditionFailure("out of memory for the name of a run loop item")
        }
        return unsafe UnsafePointer(copy)
    }

    /// Frees a copy.
    static func free(_ copy: UnsafePointer<CChar>) {
        unsafe Glibc.free(UnsafeMutablePointer(mutating: copy))
    }
}
