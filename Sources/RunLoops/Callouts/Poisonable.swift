/// A value that nobody can use any more once a fault may have left it half changed.
///
/// A fault in `dictionary[key]!.mutate()` leaves a dictionary that looks intact and is not. So put a value that outlives callouts, and is
/// changed in them, into one of these. While `withValue` runs, the value counts as touched. If the callout is abandoned there, the box is
/// *poisoned*: every later access throws `PoisonedError`, until `replace(with:)` gives it a new value. The crash report has the name.
///
/// If the body throws, the value stays as the body left it, unpoisoned, as everywhere in Swift.
///
/// Not `Sendable`: it belongs to one thread, or one actor on that thread, and has no lock. It works outside of callouts, too, but nothing
/// is abandoned there. An access inside a `withValue` of the same box breaks the law of exclusivity and traps, even from a callout of a
/// nested run.
@safe
public final class Poisonable<Value> {
    /// The name in records and errors.
    package let name: String
    private let cell: PoisonableCell<Value>
    private let mark: CalloutAttachment

    /// Makes a box with a value.
    ///
    /// - Parameters:
    ///   - value: The value.
    ///   - name: The name in records and errors.
    public init(_ value: Value, name: String) {
        self.name = name
        let cell = PoisonableCell(value)
        self.cell = cell
        // The cell outlives the box if the abandoned callout held the last reference.
        mark = CalloutAttachment(name: name) { cell.poison() }
    }

    /// Whether a callout was abandoned while it changed the value, and the value was not replaced since.
    ///
    /// True as soon as the callout is abandoned, even for the abandon handler and for cleanups.
    public var isPoisoned: Bool {
        // A mark whose callout has been abandoned is not attached any more.
        cell.state == .poisoned || (cell.state == .marked && !mark.isAttached)
    }

    /// The value; reading it does not count as touching it.
    ///
    /// - Throws: `PoisonedError`.
    package var value: Value {
        get throws(PoisonedError) {
            try requireUsable()
            return unsafe cell.storage.pointee
        }
    }

    /// Changes the value, which counts as touched meanwhile.
    ///
    /// Costs no allocation.
    ///
    /// - Parameter body: Changes it, and may throw.
    /// - Returns: What the body returns.
    /// - Throws: `PoisonedError`, or what the body throws.
    public func withValue<Result>(_ body: (inout Value) throws -> Result) throws -> Result {
        try requireUsable()
        mark.attach()
        cell.state = mark.isAttached ? .marked : .inUse
        defer {
            mark.detach()
            cell.state = .usable
        }
        return try unsafe body(&cell.storage.pointee)
    }

    /// Replaces the value, and heals the box if it is poisoned.
    ///
    /// A poisoned value is never released: there may be nothing left of it that can be.
    ///
    /// - Parameter new: The new value.
    public func replace(with new: Value) {
        let isPoisoned = isPoisoned
        if !isPoisoned { requireUnused() }
        cell.replace(with: new, leaksOld: isPoisoned)
    }

    private func requireUsable() throws(PoisonedError) {
        if cell.state == .usable { return }
        if isPoisoned { throw PoisonedError(name: name) }
        requireUnused()
    }

    private func requireUnused() {
        if cell.state != .usable {
            fatalError("overlapping accesses to the Poisonable \"\(name)\": it is used inside of its own withValue")
        }
    }
}

/// The value of a box, and whether it may be used.
@safe
private final class PoisonableCell<Value> {
    enum State {
        case usable
        /// In `withValue`, outside any callout.
        case inUse
        /// In `withValue`, in a callout that has the mark attached.
        case marked
        case poisoned
    }

    var state = State.usable
    /// Outside the object, so that a poisoned value is leaked and not destroyed.
    private(set) var storage: UnsafeMutablePointer<Value>

    init(_ value: Value) {
        unsafe storage = .allocate(capacity: 1)
        unsafe storage.initialize(to: value)
    }

    deinit {
        guard state == .usable else { return }
        unsafe storage.deinitialize(count: 1)
        unsafe storage.deallocate()
    }

    /// Makes the value unusable, unless the abandon handler or a cleanup has replaced it already.
    func poison() {
        if state == .marked { state = .poisoned }
    }

    func replace(with new: Value, leaksOld: Bool) {
        if leaksOld {
            unsafe storage = .allocate(capacity: 1)
            unsafe storage.initialize(to: new)
        } else {
            unsafe storage.pointee = new
        }
        state = .usable
    }
}

/// An access to a value that a fault may have left half changed.
public struct PoisonedError: Error, Hashable, Sendable, CustomStringConvertible {
    /// The name of the `Poisonable`.
    package let name: String

    /// Makes an error.
    ///
    /// - Parameter name: The name of the `Poisonable`.
    init(name: String) {
        self.name = name
    }

    /// What happened, and what to do.
    public var description: String {
        "\(DescriptionText.quoted(name)) is poisoned: a callout was abandoned while it changed the value, which may be half "
            + "changed; put a new one in its place with replace(with:), or restart the process"
    }
}
