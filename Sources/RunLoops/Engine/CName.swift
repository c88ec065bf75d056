import Glibc
import Synchronization

/// A NUL-terminated name at a fixed address, which a signal handler can read.
@safe
struct CName: ~Copyable, @unchecked Sendable {
    /// Valid as long as this value; never written after `init`.
    let pointer: UnsafePointer<CChar>
    private let isInterned: Bool

    /// Makes a name of its own.
    init(_ text: String) {
        unsafe self.init(Self.copy(text), isInterned: false)
    }

    private init(_ pointer: UnsafePointer<CChar>, isInterned: Bool) {
        unsafe self.pointer = unsafe pointer
        self.isInterned = isInterned
    }

    deinit {
        if !isInterned {
            unsafe free(UnsafeMutablePointer(mutating: pointer))
        }
    }

    var text: String { unsafe String(cString: pointer) }

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
        return unsafe CName(pointer, isInterned: true)
    }

    private static func copy(_ text: String) -> UnsafePointer<CChar> {
        guard let copy = unsafe strdup(text) else {
            preconditionFailure("out of memory for the name of a run loop item")
        }
        return unsafe UnsafePointer(copy)
    }
}
