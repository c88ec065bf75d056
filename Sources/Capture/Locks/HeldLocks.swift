/// Follows the ways through a function's code, and tells where in it a `Mutex` may be held.
///
/// A lock is taken and let go by a `lock cmpxchg`, and where that fails, by a call (LinuxImpl.swift of the Synchronization module);
/// the call says which of the two it was. In a debug build a function of its own lets go. What is counted is how many locks may
/// be held at most, on any way to an instruction: never less than are held. The function must take them itself; what a caller
/// holds is found in the caller.
struct HeldLocks {
    /// What a call does to the locks.
    enum Effect {
        case none, takes, letsGo
        /// It lets go by itself, rather than as the second half of an instruction.
        case releases
    }

    /// More locks than a function holds at once.
    private static let most: UInt8 = 8
    /// Instructions that are looked at behind a `cmpxchg` for the call that it is followed by where it fails.
    private static let mostBetween = 64
    /// Instructions that may lie between a `cmpxchg` that failed to let go and its call.
    private static let mostBeforeCall = 16

    private let code: [UInt8]
    /// What the functions at these offsets do: called, or through memory.
    private let effectOfCall: (Int) -> Effect
    private let effectOfPlace: (Int) -> Effect
    /// For each offset at which an instruction begins that can be reached, how many locks may be held before it, plus one.
    private var states: [UInt8]
    private var instructions: [Int: Instruction] = [:]
    private var exchanges: [Int: Effect] = [:]
    /// How many locks may be held when the function returns or jumps to another one.
    private(set) var atEnd: UInt8 = 0

    /// Follows a function's code; nil where that cannot be done.
    ///
    /// - Parameters:
    ///   - code: All bytes of the function, which is entered at the first one.
    ///   - held: How many locks are held then.
    ///   - effectOfCall: What a call or a jump to an offset from the start of the code does.
    ///   - effectOfPlace: What one through memory at an offset does.
    init?(
        in code: [UInt8],
        holding held: UInt8 = 0,
        effectOfCall: @escaping (Int) -> Effect,
        effectOfPlace: @escaping (Int) -> Effect
    ) {
        self.code = code
        self.effectOfCall = effectOfCall
        self.effectOfPlace = effectOfPlace
        states = [UInt8](repeating: 0, count: code.count)
        guard follow(from: held) else { return nil }
    }

    /// Whether a lock may be held at an instruction; nil where the code does not lead.
    ///
    /// - Parameters:
    ///   - offset: Where the instruction is, or for a return address a byte of the call.
    ///   - isExact: Whether it is the instruction that comes next, and not one that is under way.
    /// - Returns: True also between a failed attempt to let go and the call that does.
    func mayBeHeld(at offset: Int, isExact: Bool) -> Bool? {
        guard let start = isExact ? offset : start(ofInstructionAround: offset),
            states.indices.contains(start), states[start] > 0
        else { return nil }
        if states[start] > 1 { return true }
        return isExact && effects(from: start, most: Self.mostBeforeCall).found.contains(.letsGo)
    }

    private func start(ofInstructionAround offset: Int) -> Int? {
        (max(0, offset - 14)...max(0, offset)).last { start in
            instructions[start].map { start + $0.count > offset } ?? false
        }
    }

    /// Goes all ways until nothing changes: states only grow.
    private mutating func follow(from held: UInt8) -> Bool {
        var open: [Int] = []
        func isInside(_ offset: Int) -> Bool { code.indices.contains(offset) }
        func reach(_ offset: Int, _ state: UInt8, _ states: inout [UInt8]) {
            if states[offset] < state {
                states[offset] = state
                open.append(offset)
            }
        }
        guard isInside(0) else { return false }
        reach(0, held + 1, &states)
        while let place = open.popLast() {
            guard let instruction = instruction(at: place) else { return false }
            var state = states[place]
            if instruction.isLockedExchange {
                guard let effect = exchange(at: place, instruction) else { return false }
                state = Self.state(state, after: effect)
            }
            let next = place + instruction.count
            var targets: [Int] = []
            switch instruction.flow {
            case .next, .callAnywhere: targets = [next]
            case .call(let target):
                // A call to the next instruction pushes its address; nobody writes that for this machine.
                state = Self.state(state, after: effectOfCall(target) == .releases ? .releases : .none)
                targets = [next]
            case .callThrough(let target):
                state = Self.state(state, after: effectOfPlace(target) == .releases ? .releases : .none)
                targets = [next]
            case .branch(let target), .jump(let target):
                if instruction.flow != .jump(target) { targets.append(next) }
                if isInside(target) {
                    targets.append(target)
                } else {
                    end(with: Self.state(state, after: Self.asCall(effectOfCall(target))))
                }
            case .jumpThrough(let target): end(with: Self.state(state, after: Self.asCall(effectOfPlace(target))))
            // A table of a switch: it is not known where that leads.
            case .jumpAnywhere: return false
            case .end: end(with: state)
            }
            for target in targets {
                // Behind the last instruction is nothing after a call that does not return; elsewhere the code goes on in another part.
                if isInside(target) { reach(target, state, &states) } else { end(with: state) }
            }
        }
        return true
    }

    private mutating func end(with state: UInt8) {
        atEnd = max(atEnd, state - 1)
    }

    /// The last thing that a function does: what lets go then has not been counted where it was tried.
    private static func asCall(_ effect: Effect) -> Effect {
        effect == .releases ? .releases : .none
    }

    private static func state(_ state: UInt8, after effect: Effect) -> UInt8 {
        switch effect {
        case .none: state
        case .takes: min(state + 1, most)
        // At the limit it is not known how many there are.
        case .letsGo, .releases: state == most ? most : max(state - 1, 1)
        }
    }

    private mutating func instruction(at place: Int) -> Instruction? {
        if let known = instructions[place] { return known }
        let read = Instruction(code, at: place)
        instructions[place] = read
        return read
    }

    /// What a `cmpxchg` does: what the first call behind it does, on any way; nil if the ways differ, or are too long.
    private mutating func exchange(at place: Int, _ instruction: Instruction) -> Effect? {
        if let known = exchanges[place] { return known }
        let (found, isComplete) = effects(from: place + instruction.count, most: Self.mostBetween)
        guard found.count == 1 || found.isEmpty && isComplete else { return nil }
        let effect = found.first ?? .none
        exchanges[place] = effect
        return effect
    }

    /// What the first calls on all ways from a place do, if they have to do with locks, and whether all ways were gone to their end.
    private func effects(from start: Int, most: Int) -> (found: Set<Effect>, isComplete: Bool) {
        var found: Set<Effect> = []
        var seen: Set<Int> = []
        // All ways at once: the one that fails is short.
        var open = [start]
        var index = 0
        while index < open.count, seen.count < most {
            let place = open[index]
            index += 1
            guard code.indices.contains(place), seen.insert(place).inserted,
                let instruction = Instruction(code, at: place), !instruction.isLockedExchange
            else { continue }
            let next = place + instruction.count
            switch instruction.flow {
            case .next: open.append(next)
            case .branch(let target), .jump(let target):
                if instruction.flow != .jump(target) { open.append(next) }
                if code.indices.contains(target) { open.append(target) } else { found.insert(effectOfCall(target)) }
            case .call(let target): found.insert(effectOfCall(target))
            case .callThrough(let target), .jumpThrough(let target): found.insert(effectOfPlace(target))
            case .callAnywhere, .jumpAnywhere, .end: break
            }
        }
        return (found.subtracting([.none, .releases]), index == open.count)
    }
}
