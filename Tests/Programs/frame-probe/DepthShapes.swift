import CFaultInjection

func commitInDepth(_ shape: Shape) {
    switch shape {
    case .inlinedChain: hf_fault_opaque(Int64(outermost(opaque(1))))
    case .inlinedTwice:
        hf_fault_opaque(Int64(middle(opaque(0))))
        hf_fault_opaque(Int64(middle(opaque(1))))
    case .recursion: hf_fault_opaque(Int64(recurse(opaque(20))))
    case .deepRecursion: hf_fault_opaque(Int64(recurse(opaque(2000))))
    case .mutualRecursion: hf_fault_opaque(Int64(even(opaque(11))))
    default: break
    }
    hf_fault_returned()
}

@inline(__always)
private func innermost(_ value: Int) -> Int {
    let values = [opaque(1), opaque(2)]
    if value > 0 { return failing(values[opaque(0)]) }
    return value
}

@inline(__always)
private func middle(_ value: Int) -> Int {
    innermost(value) + opaque(1)
}

@inline(never)
private func outermost(_ value: Int) -> Int {
    middle(value) + opaque(1)
}

@inline(never)
private func recurse(_ depth: Int) -> Int {
    if depth == 0 { return failing(opaque(1)) }
    return recurse(depth - 1) + opaque(1)
}

@inline(never)
private func even(_ depth: Int) -> Int {
    depth == 0 ? failing(opaque(1)) : odd(depth - 1) + opaque(1)
}

@inline(never)
private func odd(_ depth: Int) -> Int {
    depth == 0 ? failing(opaque(1)) : even(depth - 1) + opaque(2)
}
