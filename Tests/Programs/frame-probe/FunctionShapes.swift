import CFaultInjection

func commitInFunctions(_ shape: Shape) {
    switch shape {
    case .closure: callAtOnce { fault() }
    case .escapingClosure: callLater { fault() }
    case .nestedClosures:
        callAtOnce {
            callLater {
                callAtOnce { fault() }
                hf_fault_returned()
            }
            hf_fault_returned()
        }
    case .localFunction:
        let level = opaque(3)
        func countDown(_ value: Int) {
            if value > level - 2 { countDown(value - 1) } else { fault() }
            hf_fault_returned()
        }
        countDown(level)
    case .reabstractionThunk: _ = apply({ (value: Int) -> Int in failing(value) }, to: opaque(1))
    case .autoclosure: evaluate(failing(opaque(1)))
    case .defaultArgument: take()
    case .throwing: try? throwing()
    case .rethrowingMap: hf_fault_opaque(Int64([opaque(1), 2, 3].map { failing($0) }.count))
    default: break
    }
    hf_fault_returned()
}

@inline(never)
func failing(_ value: Int) -> Int {
    fault()
    return value + opaque(1)
}

@inline(never)
private func callAtOnce(_ body: () -> Void) {
    body()
    hf_fault_returned()
}

private final class Kept {
    var body: (() -> Void)?
}

@inline(never)
private func callLater(_ body: @escaping () -> Void) {
    let kept = Kept()
    kept.body = body
    kept.body?()
    hf_fault_returned()
}

@inline(never)
@_optimize(none)
private func apply<Input, Output>(_ function: @escaping (Input) -> Output, to value: Input) -> Output {
    let functions = [function]
    return functions[opaque(0)](value)
}

@inline(never)
private func evaluate(_ value: @autoclosure () -> Int) {
    hf_fault_opaque(Int64(value()))
    hf_fault_returned()
}

@inline(never)
private func take(_ value: Int = failing(opaque(2))) {
    hf_fault_opaque(Int64(value))
}

private struct Problem: Error {}

@inline(never)
private func throwing() throws {
    defer { hf_fault_returned() }
    fault()
    throw Problem()
}
