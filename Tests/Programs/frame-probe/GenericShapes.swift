import CFaultInjection

func commitInGenerics(_ shape: Shape) {
    switch shape {
    case .generic: hf_fault_opaque(Int64(unspecialized([opaque(1)], "text")))
    case .genericSpecialized: hf_fault_opaque(Int64(Pair(first: opaque(1), second: "text").swapped { fault() }.second))
    case .parameterPack: count(opaque(1), "text", 2.5)
    case .protocolWitness: visitors[opaque(0)].visit(opaque(1))
    case .defaultImplementation: visitors[opaque(1)].visit(opaque(1))
    default: break
    }
    hf_fault_returned()
}

@inline(never)
@_optimize(none)
private func unspecialized<First: Collection, Second>(_ first: First, _ second: Second) -> Int {
    fault()
    return first.count
}

private struct Pair<First, Second> {
    var first: First
    var second: Second

    @inline(never)
    func swapped(_ body: () -> Void) -> Pair<Second, First> {
        body()
        return Pair<Second, First>(first: second, second: first)
    }
}

@inline(never)
private func count<each Value>(_ value: repeat each Value) {
    for value in repeat each value {
        failing(with: value)
    }
    hf_fault_returned()
}

@inline(never)
private func failing<Value>(with value: Value) {
    if MemoryLayout<Value>.size > opaque(8) { fault() }
    hf_fault_returned()
}

private protocol Visitor {
    func visit(_ value: Int)
}

extension Visitor {
    @inline(never)
    func visit(_ value: Int) {
        if value > 0 { fault() }
        hf_fault_returned()
    }
}

private struct Plain: Visitor {
    var number: Int

    @inline(never)
    func visit(_ value: Int) {
        if value + number > 0 { fault() }
        hf_fault_returned()
    }
}

private struct Default: Visitor {}

private var visitors: [any Visitor] { [Plain(number: opaque(2)), Default()] }
