/// A bug: reports of it belong together, however it was reached.
enum Bug: String, CaseIterable {
    /// A header that is missing, in a function that everybody uses.
    case missingHeader = "missing-header"
    /// A check in a helper, which one caller does not respect.
    case firstRecipient = "first-recipient"
    /// The same check, which another caller does not respect.
    case lastHop = "last-hop"
    /// Nil in a generic function, with one type.
    case decodeNumber = "decode-number"
    /// The same bug with another type.
    case decodeText = "decode-text"
    /// A parser: an index, a calculation and nil in one function.
    case parseIndex = "parse-index"
    case parseOverflow = "parse-overflow"
    case parseNil = "parse-nil"
    /// Another nil in that function, further down.
    case parseOtherNil = "parse-other-nil"
    /// A text with a number in it.
    case noRoute = "no-route"
    /// Another text in the same function.
    case noSocket = "no-socket"
    /// Two types with a method of the same name.
    case memoryStore = "memory-store"
    case fileStore = "file-store"
    /// Errors of two types in one `try!`.
    case expired
    case revoked
    /// Closures of one function, kept for later.
    case firstHandler = "first-handler"
    case secondHandler = "second-handler"
    /// A closure that its function calls.
    case ownClosure = "own-closure"
    /// An array that is too short, at the end of a recursion.
    case leaf
    /// A recursion without an end, from one of two functions that call each other.
    case endless
    /// Another recursion.
    case endlessOther = "endless-other"
    /// A pointer that leads to nothing, or to no address at all.
    case danglingPointer = "dangling-pointer"
    /// A null pointer that a function of the C library is given.
    case copyFromNull = "copy-from-null"
    /// A getter.
    case getter
    /// An initializer.
    case initializer
    /// An operator.
    case comparison
    /// A local function.
    case localFunction = "local-function"
    /// A deinitializer.
    case deinitializer
    /// A function that is always inlined.
    case inlined
    /// A failed cast.
    case cast
    /// A range that is made wrongly.
    case range
}
