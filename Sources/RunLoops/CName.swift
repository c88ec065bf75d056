import Glibc
import Synchronization

/// A NUL-terminated name at a fixed address, which a signal handler can read.
@safe
final class CName: @unchecked Sendable {
    /// Valid as long as this object; never written after `init`.
    let pointer: UnsafePointer<CChar>

    init(_ text: String) {
        guard let copy = unsafe strdup(text) else {
            preconditionFailure("out of memory for the name of a run loop item")
        }
        unsafe pointer = UnsafePointer(copy)
    }

    deinit {
        unsafe free(UnsafeMutablePointer(mutating: pointer))
    }

    var text: String { unsafe String(cString: pointer) }

    private static let interned = Mutex<[String: CName]>([:])

    /// Returns the one name with this text that lives as long as the process: a crash report may still point to it.
    static func interned(_ text: String) -> CName {
        interned.withLock { names in
            if let name = names[text] { return name }
            let name = CName(text)
            names[text] = name
            return name
        }
    }
}
