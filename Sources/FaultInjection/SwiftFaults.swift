internal import CFaultInjection

// What decides each fault is made opaque, or the compiler would reject the function or replace its body by a trap without a line.

/// Keeps a value from being computed in vain.
private func use(_ value: Int) {
    _ = hf_fault_opaque(Int64(value))
}

private struct InjectedError: Error {}

private final class Counter {
    var value: Int

    init(_ value: Int) {
        self.value = value
    }
}

@inline(never)
func faultNilUnwrap() {
    let value: Int? = opaque(0) == 0 ? nil : 1
    // swift-format-ignore: NeverForceUnwrap
    use(value!)
}

@inline(never)
func faultIndexOutOfRange() {
    let values = [opaque(1), 2, 3]
    use(values[opaque(3)])
}

@inline(never)
func faultOverflow() {
    use(opaque(.max) + 1)
}

@inline(never)
func faultPrecondition() {
    precondition(opaque(41) == 42, "the answer is 42")
}

@inline(never)
func faultFatalError() {
    fatalError("a fault on purpose")
}

@inline(never)
private func throwInjectedError() throws {
    if opaque(0) == 0 {
        throw InjectedError()
    }
}

@inline(never)
func faultTryBang() {
    try! throwInjectedError()
}

@inline(never)
func faultAsBang() {
    let values: [Any] = [1, "one"]
    // swift-format-ignore: NeverForceUnwrap
    let text = values[opaque(0)] as! String
    use(text.utf8.count)
}

@inline(never)
func faultDuplicateKey() {
    let names = [opaque(1): "one", opaque(2): "two", opaque(1): "uno"]
    use(names.count)
}

@inline(never)
private func exchange(_ first: inout Int, _ second: inout Int) {
    (first, second) = (second, first)
}

@inline(never)
func faultExclusivity() {
    let counters = [Counter(1), Counter(2)]
    let (first, second) = (counters[opaque(0)], counters[opaque(0)])
    exchange(&first.value, &second.value)
    use(first.value)
}
