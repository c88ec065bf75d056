import CFaultInjection
import Dispatch

func commitInTasks(_ shape: Shape) {
    let ended = DispatchSemaphore(value: 0)
    Task.detached {
        switch shape {
        case .asyncFunction: await first(opaque(1))
        case .asyncAfterSuspension: await afterSuspension(opaque(1))
        case .taskGroup: await group(opaque(1))
        case .actorMethod: await Counter().count(opaque(1))
        case .asyncSequence: await iterate(opaque(2))
        default: break
        }
        ended.signal()
    }
    ended.wait()
    hf_fault_returned()
}

@inline(never)
private func first(_ value: Int) async {
    await second(value)
    hf_fault_returned()
}

@inline(never)
private func second(_ value: Int) async {
    if value > 0 { fault() }
    hf_fault_returned()
}

@inline(never)
private func afterSuspension(_ value: Int) async {
    await Task.yield()
    if value > 0 { fault() }
    hf_fault_returned()
}

@inline(never)
private func group(_ count: Int) async {
    await withTaskGroup(of: Int.self) { group in
        for number in 0..<count {
            group.addTask { failing(number) }
        }
        for await number in group { hf_fault_opaque(Int64(number)) }
    }
}

private actor Counter {
    var value = 0

    @inline(never)
    func count(_ by: Int) async {
        value += by
        await Task.yield()
        value += failing(by)
    }
}

@inline(never)
private func iterate(_ count: Int) async {
    let numbers = AsyncStream<Int> { continuation in
        for number in 0..<count { continuation.yield(number) }
        continuation.finish()
    }
    for await number in numbers.map({ failing($0) }) {
        hf_fault_opaque(Int64(number))
    }
}
