import CRecoveryPoint

/// The two words of a closure that a loop calls.
///
/// Calling it counts no references. Releasing it takes no locked instruction, unless somebody else keeps the closure, too.
@safe
struct KeptClosure: ~Copyable, @unchecked Sendable {
    private let code: UInt
    /// Where its memory is, to prefetch it; 0 if it has none.
    let address: UInt

    /// Takes over a structure that has a closure and nothing else.
    @inline(__always)
    init<Closure: ~Copyable>(_ closure: consuming Closure) {
        var words: (code: UInt, memory: UInt) = (0, 0)
        var closure: Closure? = closure
        unsafe withUnsafeMutablePointer(to: &words) {
            guard let closure = closure.take() else { return }
            unsafe UnsafeMutableRawPointer($0).assumingMemoryBound(to: Closure.self).initialize(to: closure)
        }
        (code, address) = words
    }

    deinit { unsafe hf_release_closure(UnsafeMutableRawPointer(bitPattern: address)) }

    /// Calls `body` with such a structure.
    @inline(__always)
    borrowing func with<Closure: ~Copyable, Value>(_: Closure.Type, _ body: (borrowing Closure) -> Value) -> Value {
        let words = (code: code, memory: address)
        return unsafe withUnsafePointer(to: words) {
            unsafe body(UnsafeRawPointer($0).assumingMemoryBound(to: Closure.self).pointee)
        }
    }
}

// Not copyable, or a call would count references. With or without an isolation, a closure has the same layout: see `Plain`.

/// The closure of a block, with its actor.
struct BlockClosure: ~Copyable {
    let closure: @Sendable @isolated(any) () -> Void
}

/// The closure of a block, whose actor was checked.
struct PlainBlockClosure: ~Copyable {
    let closure: @Sendable () -> Void
    borrowing func call() { closure() }
}

/// The closure of a timer, whose actor was checked.
struct TimerClosure: ~Copyable {
    let closure: @Sendable (HostRunLoop.Timer) -> Void
    borrowing func call(_ timer: HostRunLoop.Timer) { closure(timer) }
}
