internal import CFaultInjection
internal import Dispatch
internal import Synchronization

/// An integer that the optimiser knows nothing of.
func opaque(_ value: Int) -> Int {
    Int(hf_fault_opaque(Int64(value)))
}

private final class Holder {
    var value: Int

    init(_ value: Int) {
        self.value = value
    }
}

/// Opens an access that is still open when the body runs.
@inline(never)
private func modify(_ value: inout Int, during body: () -> Void) {
    value += 1
    body()
    value += 1
}

/// Kept for ever, so that the object cannot be seen through.
private nonisolated(unsafe) let held = Holder(1)

@inline(never)
func faultInoutAccess() {
    unsafe modify(&held.value) { faultNilUnwrap() }
}

private final class Bomb {
    let isArmed = opaque(1) == 1

    deinit {
        if isArmed { faultNilUnwrap() }
    }
}

/// The last reference, dropped by its owner.
private nonisolated(unsafe) var bomb: Bomb?

@inline(never)
func faultDeinitializer() {
    unsafe bomb = Bomb()
    unsafe bomb = nil
    hf_fault_returned()
}

@inline(never)
func faultDeferred() {
    defer {
        faultNilUnwrap()
        hf_fault_returned()
    }
    _ = opaque(1)
}

@inline(never)
private func initialValue() -> Int {
    faultNilUnwrap()
    return opaque(1)
}

private let lazilyMade = initialValue()

@inline(never)
func faultLazyGlobal() {
    _ = hf_fault_opaque(Int64(lazilyMade))
}

private struct Wrapped<Value> {
    var value: Value?
}

/// Every level needs the metadata of a type that no level before it needed, and a runtime that makes it on top of this stack.
@inline(never)
private func wrap<Value>(_ type: Value.Type, depth: Int) -> Int {
    guard opaque(depth) >= 0 else { return 0 }
    return wrap(Wrapped<Value>.self, depth: depth + 1) + MemoryLayout<Value>.size
}

@inline(never)
func faultGenericMetadata() {
    _ = hf_fault_opaque(Int64(wrap(Int.self, depth: 0)))
}

private struct Reference {
    unowned let holder: Holder
}

private nonisolated(unsafe) var holders: [Holder] = []

@inline(never)
func faultUnownedReference() {
    unsafe holders = [Holder(opaque(1))]
    let reference = unsafe Reference(holder: holders[0])
    unsafe holders = []
    _ = hf_fault_opaque(Int64(reference.holder.value))
}

private let guarded = Mutex(0)

@inline(never)
func faultMutex() {
    guarded.withLock { value in
        faultNilUnwrap()
        value += opaque(1)
    }
}

private let queue = DispatchQueue(label: "queue-sync")

@inline(never)
func faultQueueSync() {
    queue.sync { faultNilUnwrap() }
    hf_fault_returned()
}

@inline(never)
func faultCCallback() {
    unsafe hf_call_back({ _ in faultNilUnwrap() }, nil)
    hf_fault_returned()
}

enum Tenant {
    @TaskLocal static var current: String?
}

@inline(never)
func faultTaskLocal() {
    Tenant.$current.withValue("alice") {
        faultNilUnwrap()
        hf_fault_returned()
    }
}

@inline(never)
func faultConditionLock() {
    unsafe Hazard.lockingCondition { faultNilUnwrap() }
    hf_fault_returned()
}

@inline(never)
func faultSortComparator() {
    let sorted = [opaque(3), opaque(1), opaque(2)].sorted { left, right in
        faultNilUnwrap()
        return left < right
    }
    _ = hf_fault_opaque(Int64(sorted.count))
}

private struct Pages {
    var numbers: [Int]

    @inline(never)
    mutating func turn() {
        numbers.append(opaque(4))
        faultNilUnwrap()
        numbers.append(opaque(5))
    }
}

@inline(never)
func faultDictionaryModify() {
    var books = [opaque(1): Pages(numbers: [1]), opaque(2): Pages(numbers: [2])]
    books[opaque(1)]?.turn()
    _ = hf_fault_opaque(Int64(books.count))
}

private struct Unspeakable: CustomStringConvertible {
    var description: String {
        faultNilUnwrap()
        return "never said"
    }
}

@inline(never)
func faultPrintDescription() {
    print(Unspeakable())
    hf_fault_returned()
}
