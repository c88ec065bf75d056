/// Where a function's caller has its registers, at one of its instructions: call frame instructions (DWARF 4, 6.4).
struct FrameRules {
    typealias Unreadable = RemoteMemory.Unreadable

    /// Where a register of the caller is.
    enum Rule {
        case undefined
        /// As far from the frame's address.
        case offset(Int64)
        /// It is that.
        case valueOffset(Int64)
        case register(Int)
        /// Where an expression says.
        case expression(RemoteCursor)
        case valueExpression(RemoteCursor)
    }

    /// The address of the frame: that of the stack pointer in the caller.
    enum Address {
        case register(Int, Int64)
        case expression(RemoteCursor)
    }

    private(set) var address: Address?
    /// Those that are not as they are now.
    private(set) var rules: [Int: Rule] = [:]

    private struct State {
        let address: Address?
        let rules: [Int: Rule]
    }

    private var initial: [Int: Rule] = [:]
    private var remembered: [State] = []

    /// Runs the instructions of a function up to one of its addresses.
    ///
    /// - Parameters:
    ///   - entry: What the unwind table says of the function.
    ///   - target: The address.
    /// - Throws: `Unreadable`.
    init(_ entry: UnwindTable.Entry, upTo target: UInt64) throws(Unreadable) {
        var place = entry.start
        try run(entry.common, entry, &place, upTo: .max)
        initial = rules
        place = entry.start
        try run(entry.own, entry, &place, upTo: target)
    }

    private mutating func run(
        _ instructions: RemoteCursor,
        _ entry: UnwindTable.Entry,
        _ place: inout UInt64,
        upTo target: UInt64
    ) throws(Unreadable) {
        var cursor = instructions
        while !cursor.isAtEnd {
            let code = try cursor.byte()
            let low = UInt64(code & 0x3f)
            switch code & 0xc0 {
            case 0x40: place = place &+ low &* entry.codeAlignment
            case 0x80: set(low, .offset(scaled(try cursor.unsigned(), entry)))
            case 0xc0: restore(low)
            default: try run(code, &cursor, entry, &place)
            }
            // The rules so far hold before that place.
            if place > target { return }
        }
    }

    private mutating func run(
        _ code: UInt8,
        _ cursor: inout RemoteCursor,
        _ entry: UnwindTable.Entry,
        _ place: inout UInt64
    ) throws(Unreadable) {
        switch code {
        case 0x00: break
        case 0x01: place = try cursor.pointer(entry.pointerEncoding)
        case 0x02: place = place &+ UInt64(try cursor.byte()) &* entry.codeAlignment
        case 0x03: place = place &+ UInt64(try cursor.fixed() as UInt16) &* entry.codeAlignment
        case 0x04: place = place &+ UInt64(try cursor.fixed() as UInt32) &* entry.codeAlignment
        case 0x05: set(try cursor.unsigned(), .offset(scaled(try cursor.unsigned(), entry)))
        case 0x06: restore(try cursor.unsigned())
        case 0x07: set(try cursor.unsigned(), .undefined)
        case 0x08: set(try cursor.unsigned(), nil)
        case 0x09: set(try cursor.unsigned(), .register(number(try cursor.unsigned())))
        case 0x0a:
            guard remembered.count < 64 else { throw Unreadable() }
            remembered.append(State(address: address, rules: rules))
        case 0x0b:
            guard let state = remembered.popLast() else { throw Unreadable() }
            (address, rules) = (state.address, state.rules)
        case 0x0c:
            let register = number(try cursor.unsigned())
            address = .register(register, Int64(truncatingIfNeeded: try cursor.unsigned()))
        case 0x0d:
            guard case .register(_, let offset) = address else { throw Unreadable() }
            address = .register(number(try cursor.unsigned()), offset)
        case 0x0e: try setOffset(Int64(truncatingIfNeeded: try cursor.unsigned()))
        case 0x0f: address = .expression(try block(&cursor))
        case 0x10: set(try cursor.unsigned(), .expression(try block(&cursor)))
        case 0x11: set(try cursor.unsigned(), .offset(try cursor.signed() &* entry.dataAlignment))
        case 0x12:
            let register = number(try cursor.unsigned())
            address = .register(register, try cursor.signed() &* entry.dataAlignment)
        case 0x13: try setOffset(try cursor.signed() &* entry.dataAlignment)
        case 0x14: set(try cursor.unsigned(), .valueOffset(scaled(try cursor.unsigned(), entry)))
        case 0x15: set(try cursor.unsigned(), .valueOffset(try cursor.signed() &* entry.dataAlignment))
        case 0x16: set(try cursor.unsigned(), .valueExpression(try block(&cursor)))
        // GNU_args_size: of no interest where nothing is thrown.
        case 0x2e: _ = try cursor.unsigned()
        default: throw Unreadable()
        }
    }

    private func scaled(_ factor: UInt64, _ entry: UnwindTable.Entry) -> Int64 {
        Int64(truncatingIfNeeded: factor) &* entry.dataAlignment
    }

    private func number(_ register: UInt64) -> Int { Int(truncatingIfNeeded: register & 0xffff) }

    private mutating func setOffset(_ offset: Int64) throws(Unreadable) {
        guard case .register(let register, _) = address else { throw Unreadable() }
        address = .register(register, offset)
    }

    /// Those that are not kept (of vectors) are left out.
    private mutating func set(_ register: UInt64, _ rule: Rule?) {
        if register < UInt64(RemoteRegisters.count) { rules[Int(register)] = rule }
    }

    private mutating func restore(_ register: UInt64) { set(register, initial[number(register)]) }

    private func block(_ cursor: inout RemoteCursor) throws(Unreadable) -> RemoteCursor {
        let length = try cursor.unsigned()
        let block = RemoteCursor(cursor.memory, at: cursor.place, length: length)
        try cursor.skip(length)
        return block
    }
}
