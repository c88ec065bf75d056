/// Follows the paths through a function's code, and tells where on them a `Mutex` may be held.
///
/// A `lock cmpxchg` takes or releases a lock. If it fails, a call does (LinuxImpl.swift of the Synchronization module); the call says which
/// of the two it was. In a debug build a separate function releases the lock. The result is the largest number of locks that any path to an
/// instruction may hold: never less than are held. Only locks that the function takes itself count; those of a caller are found in the
/// caller.
///
/// Where an indirect jump leads is not known: an async function ends by one, and a `switch` may have a table. Without a lock held there, it is
/// taken for a jump to every instruction of the function, which is never too little. With one, nothing is told.
struct HeldLocks {
    /// What a call does to the locks.
    enum Effect: UInt8 {
        case none, takes, letsGo
        /// It releases the lock itself; it is not the second half of a `cmpxchg`.
        case releases
        /// It takes something itself, in the same way.
        case acquires
    }

    /// More locks than a function holds at once.
    private static let most: UInt8 = 8
    /// How many instructions behind a `cmpxchg` are searched for the call of its failure path.
    private static let mostBetween = 64
    /// How many instructions may lie between a `cmpxchg` that failed to release and its call.
    private static let mostBeforeCall = 16

    private let code: [UInt8]
    /// What the functions at these offsets do when they are called directly, and when they are called through memory.
    private let effectOfCall: (Int) -> Effect
    private let effectOfPlace: (Int) -> Effect
    /// For each offset of an instruction that can be reached: how many locks may be held before it, plus one.
    private var states: [UInt8]
    private var instructions: [Int: Instruction] = [:]
    private var exchanges: [Int: Effect] = [:]
    /// The starts of all instructions from the first byte on; empty as long as no indirect jump was met.
    private var all: Set<Int> = []
    /// How many locks may be held when the function returns or jumps to another one.
    private(set) var atEnd: UInt8 = 0

    /// Follows a function's code; nil if that is not possible.
    ///
    /// - Parameters:
    ///   - code: All bytes of the function, which is entered at the first one.
    ///   - held: How many locks are held at the entry.
    ///   - effectOfCall: What a call or a jump to an offset from the start of the code does.
    ///   - effectOfPlace: The same for a call or a jump through memory at an offset.
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
        // Code read from its start, and code on the paths, must have the same instructions: an answer for one that is none may be wrong.
        guard all.isEmpty || instructions.keys.allSatisfy(all.contains) else { return nil }
    }

    /// Whether a lock may be held at an instruction; nil if no path leads there.
    ///
    /// - Parameters:
    ///   - offset: Where the instruction is, or for a return address a byte of the call.
    ///   - isExact: Whether the instruction comes next. If not, it is under way.
    /// - Returns: True also between a failed attempt to release and the call that does.
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

    /// Follows all paths until nothing changes; the states only grow.
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
                // A call to the next instruction pushes its address. No compiler emits that for this machine.
                state = Self.state(state, after: Self.asCall(effectOfCall(target)))
                targets = [next]
            case .callThrough(let target):
                state = Self.state(state, after: Self.asCall(effectOfPlace(target)))
                targets = [next]
            case .branch(let target), .jump(let target):
                if instruction.flow != .jump(target) { targets.append(next) }
                if isInside(target) {
                    targets.append(target)
                } else {
                    end(with: Self.state(state, after: Self.asCall(effectOfCall(target))))
                }
            case .jumpThrough(let target): end(with: Self.state(state, after: Self.asCall(effectOfPlace(target))))
            case .jumpAnywhere:
                // States grow: if a lock is found on another path to here later, this is asked again.
                guard state == 1 else { return false }
                if all.isEmpty {
                    guard findAll() else { return false }
                    for target in all { reach(target, state, &states) }
                }
                end(with: state)
            case .end: end(with: state)
            }
            for target in targets {
                // A call that does not return may be the last instruction. Otherwise the code goes on in another part.
                if isInside(target) { reach(target, state, &states) } else { end(with: state) }
            }
        }
        return true
    }

    /// Finds the instructions one behind the other; false if there is an unknown one.
    ///
    /// False also for code that waits for something by a call. That may be C++, where the handling of an exception begins at a place to
    /// which no jump leads, with whatever is held at the call. Swift, which alone has `Mutex`, has no such places.
    private mutating func findAll() -> Bool {
        var place = 0
        while place < code.count {
            guard let instruction = Instruction(code, at: place) else { return false }
            switch instruction.flow {
            case .call(let target), .jump(let target), .branch(let target):
                guard effectOfCall(target) != .acquires else { return false }
            case .callThrough(let target), .jumpThrough(let target):
                guard effectOfPlace(target) != .acquires else { return false }
            case .next, .callAnywhere, .jumpAnywhere, .end: break
            }
            all.insert(place)
            place += instruction.count
        }
        return true
    }

    private mutating func end(with state: UInt8) {
        atEnd = max(atEnd, state - 1)
    }

    /// What a call or a jump does by itself: the rest was counted at a `cmpxchg`.
    private static func asCall(_ effect: Effect) -> Effect {
        switch effect {
        case .releases, .acquires: effect
        case .none, .takes, .letsGo: .none
        }
    }

    private static func state(_ state: UInt8, after effect: Effect) -> UInt8 {
        switch effect {
        case .none: state
        case .takes, .acquires: min(state + 1, most)
        // At the limit the real number is not known.
        case .letsGo, .releases: state == most ? most : max(state - 1, 1)
        }
    }

    private mutating func instruction(at place: Int) -> Instruction? {
        if let known = instructions[place] { return known }
        let read = Instruction(code, at: place)
        instructions[place] = read
        return read
    }

    /// The effect of a `cmpxchg`: that of the first call behind it, on any path; nil if paths differ, or are too long.
    private mutating func exchange(at place: Int, _ instruction: Instruction) -> Effect? {
        if let known = exchanges[place] { return known }
        let (found, isComplete) = effects(from: place + instruction.count, most: Self.mostBetween)
        guard found.count == 1 || found.isEmpty && isComplete else { return nil }
        let effect = found.first ?? .none
        exchanges[place] = effect
        return effect
    }

    /// The effects of the first calls on all paths from a place, as far as they concern locks, and whether all paths were followed to their
    /// end.
    private func effects(from start: Int, most: Int) -> (found: Set<Effect>, isComplete: Bool) {
        var found: Set<Effect> = []
        var seen: Set<Int> = []
        // All paths in parallel: the failure path is short.
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
        return (found.subtracting([.none, .releases, .acquires]), index == open.count)
    }
}
