import Synchronization
import SystemPackage

/// Something that takes descriptors: made at once or, when the process has none left, as soon as it has some.
///
/// Never taken back: who has read it once may use it as long as its owner lives. Callable from any thread.
struct Late<Value: AnyObject & Sendable>: ~Copyable, Sendable {
    /// What nearly always is there, for one load and no more.
    private let early: Value?
    private let late = AtomicLazyReference<Value>()

    /// Makes the value now, if that is possible.
    init(_ make: () throws(Errno) -> Value) {
        do throws(Errno) {
            early = try make()
        } catch {
            early = nil
        }
    }

    /// The value, if it is there.
    @inline(__always)
    var value: Value? { early ?? late.load() }

    /// Returns the value, made now if it was not possible before.
    ///
    /// - Throws: The error of the call that failed: `EMFILE`, `ENFILE` or `ENOMEM`.
    func required(_ make: () throws(Errno) -> Value) throws(Errno) -> Value {
        if let value { return value }
        return late.storeIfNil(try make())
    }
}
