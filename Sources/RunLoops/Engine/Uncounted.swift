/// A reference to an object that somebody else keeps alive, which counts no references.
///
/// Unlike an `unowned(unsafe)` property, using it counts none either: of the time that a timer lives, a fifth was that.
@safe
struct Uncounted<Object: AnyObject>: @unchecked Sendable {
    private let reference: Unmanaged<Object>

    @inline(__always)
    init(_ object: Object) {
        unsafe reference = .passUnretained(object)
    }

    /// The object, as a reference that counts and may be kept.
    var object: Object { unsafe reference.takeUnretainedValue() }

    /// Whether it refers to an object.
    @inline(__always)
    func refers(to object: Object) -> Bool {
        unsafe reference.toOpaque() == Unmanaged.passUnretained(object).toOpaque()
    }

    /// Calls `body` with the object, which lives until then.
    @inline(__always)
    func with<Value>(_ body: (Object) -> Value) -> Value { unsafe reference._withUnsafeGuaranteedRef(body) }
}
