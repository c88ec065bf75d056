import CFaultInjection

func commitInMembers(_ shape: Shape) {
    switch shape {
    case .classMethod: animals[opaque(1)].speak(opaque(1))
    case .initializer: hf_fault_opaque(Int64(Machine(failing: opaque(1) == 1).value))
    case .deinitializer: discard()
    case .getter: hf_fault_opaque(Int64(Machine(failing: opaque(0) == 1).computed))
    case .setterObserver: Machine(failing: opaque(0) == 1).observed = opaque(2)
    case .subscriptRead: hf_fault_opaque(Int64(Machine(failing: opaque(0) == 1)[opaque(3)]))
    case .lazyProperty: hf_fault_opaque(Int64(Machine(failing: opaque(0) == 1).lazily))
    case .staticProperty: hf_fault_opaque(Int64(Machine.shared))
    case .keyPath:
        let paths = [\Machine.computed, \Machine.value]
        hf_fault_opaque(Int64(Machine(failing: opaque(0) == 1)[keyPath: paths[opaque(0)]]))
    case .operatorFunction: hf_fault_opaque(Int64((Amount(value: opaque(1)) <+> Amount(value: opaque(2))).value))
    default: break
    }
    hf_fault_returned()
}

private class Animal {
    @inline(never)
    func speak(_ times: Int) {
        hf_fault_returned()
    }
}

private final class Dog: Animal {
    @inline(never)
    override func speak(_ times: Int) {
        super.speak(times)
        fault()
        hf_fault_returned()
    }
}

private var animals: [Animal] { [Animal(), Dog()] }

private final class Machine {
    let value: Int
    lazy var lazily = failing(opaque(1))
    static let shared = failing(opaque(1))

    var observed = 0 {
        didSet {
            fault()
            hf_fault_returned()
        }
    }

    @inline(never)
    init(failing: Bool) {
        if failing { fault() }
        value = opaque(1)
    }

    var computed: Int {
        @inline(never)
        get {
            fault()
            return value + opaque(1)
        }
    }

    subscript(index: Int) -> Int {
        @inline(never)
        get {
            fault()
            return value + index
        }
    }
}

private final class Bomb {
    let inner = Inner()

    final class Inner {
        deinit {
            fault()
            hf_fault_returned()
        }
    }
}

@inline(never)
private func discard() {
    let bombs = [Bomb(), Bomb()]
    hf_fault_opaque(Int64(bombs.count))
}

infix operator <+>

private struct Amount {
    var value: Int

    @inline(never)
    static func <+> (left: Amount, right: Amount) -> Amount {
        fault()
        return Amount(value: left.value + right.value)
    }
}
