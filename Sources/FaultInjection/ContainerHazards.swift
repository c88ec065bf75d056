internal import CFaultInjection

/// An integer that the optimiser knows nothing of.
private func opaque(_ value: Int) -> Int {
    Int(hf_fault_opaque(Int64(value)))
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
