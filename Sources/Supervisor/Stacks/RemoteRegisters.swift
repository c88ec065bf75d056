/// The registers of a frame, by their numbers in DWARF on x86-64; the return address is the last one.
struct RemoteRegisters {
    static let count = 17
    static let framePointer = 6
    static let stackPointer = 7

    private var values: [UInt64?]

    /// - Parameter values: All of them.
    init(_ values: [UInt64]) {
        self.values = (0..<Self.count).map { values.indices.contains($0) ? values[$0] : nil }
    }

    /// One of them; nil if it is not known, or there is none with that number.
    subscript(_ number: Int) -> UInt64? {
        get { values.indices.contains(number) ? values[number] : nil }
        set { if values.indices.contains(number) { values[number] = newValue } }
    }

    /// Where the thread is in this frame.
    var programCounter: UInt64? { self[Self.count - 1] }

    /// The registers of the caller.
    ///
    /// - Parameters:
    ///   - rules: Where they are.
    ///   - memory: The process's.
    /// - Returns: Its registers.
    /// - Throws: `Unreadable`.
    func caller(_ rules: FrameRules, _ memory: RemoteMemory) throws(RemoteMemory.Unreadable) -> RemoteRegisters {
        let frame: UInt64
        switch rules.address {
        case .register(let number, let offset):
            guard let value = self[number] else { throw RemoteMemory.Unreadable() }
            frame = value &+ UInt64(bitPattern: offset)
        case .expression(let expression): frame = try evaluate(expression)
        case nil: throw RemoteMemory.Unreadable()
        }
        var caller = self
        caller[Self.stackPointer] = frame
        for (number, rule) in rules.rules {
            switch rule {
            case .undefined: caller[number] = nil
            case .offset(let offset): caller[number] = try memory.integer(at: frame &+ UInt64(bitPattern: offset))
            case .valueOffset(let offset): caller[number] = frame &+ UInt64(bitPattern: offset)
            case .register(let other): caller[number] = self[other]
            case .expression(let expression): caller[number] = try memory.integer(at: try evaluate(expression, frame))
            case .valueExpression(let expression): caller[number] = try evaluate(expression, frame)
            }
        }
        return caller
    }

    /// The registers of the caller, if this function keeps a frame pointer.
    ///
    /// - Parameter memory: The process's.
    /// - Returns: Its registers.
    /// - Throws: `Unreadable`.
    func callerByFramePointer(_ memory: RemoteMemory) throws(RemoteMemory.Unreadable) -> RemoteRegisters {
        guard let frame = self[Self.framePointer], frame % 8 == 0 else { throw RemoteMemory.Unreadable() }
        var caller = self
        caller[Self.framePointer] = try memory.integer(at: frame)
        caller[Self.count - 1] = try memory.integer(at: frame &+ 8)
        caller[Self.stackPointer] = frame &+ 16
        return caller
    }

    /// Evaluates an expression (DWARF 4, 2.5).
    ///
    /// Of the operations that unwind tables have: those of linkers for the stubs of imported functions, and those of the C library for the
    /// frames of signals. None of them jumps.
    private func evaluate(_ expression: RemoteCursor, _ first: UInt64? = nil) throws(RemoteMemory.Unreadable) -> UInt64
    {
        var cursor = expression
        var stack: [UInt64] = first.map { [$0] } ?? []
        func pop() throws(RemoteMemory.Unreadable) -> UInt64 {
            guard let value = stack.popLast() else { throw RemoteMemory.Unreadable() }
            return value
        }
        while !cursor.isAtEnd {
            guard stack.count < 64 else { throw RemoteMemory.Unreadable() }
            let code = try cursor.byte()
            switch code {
            case 0x03, 0x0e: stack.append(try cursor.fixed())
            case 0x06: stack.append(try cursor.memory.integer(at: try pop()))
            case 0x08: stack.append(UInt64(try cursor.byte()))
            case 0x09: stack.append(UInt64(bitPattern: Int64(try cursor.fixed() as Int8)))
            case 0x0a: stack.append(UInt64(try cursor.fixed() as UInt16))
            case 0x0b: stack.append(UInt64(bitPattern: Int64(try cursor.fixed() as Int16)))
            case 0x0c: stack.append(UInt64(try cursor.fixed() as UInt32))
            case 0x0d: stack.append(UInt64(bitPattern: Int64(try cursor.fixed() as Int32)))
            case 0x0f: stack.append(UInt64(bitPattern: try cursor.fixed() as Int64))
            case 0x10: stack.append(try cursor.unsigned())
            case 0x11: stack.append(UInt64(bitPattern: try cursor.signed()))
            case 0x12:
                let top = try pop()
                stack += [top, top]
            case 0x13: _ = try pop()
            case 0x1a, 0x1c, 0x1e, 0x21, 0x22, 0x24, 0x25, 0x27, 0x29...0x2e:
                let second = try pop()
                stack.append(operate(code, try pop(), second))
            case 0x23: stack.append(try pop() &+ (try cursor.unsigned()))
            case 0x30...0x4f: stack.append(UInt64(code - 0x30))
            case 0x50...0x6f:
                guard let value = self[Int(code - 0x50)] else { throw RemoteMemory.Unreadable() }
                stack.append(value)
            case 0x70...0x8f:
                guard let value = self[Int(code - 0x70)] else { throw RemoteMemory.Unreadable() }
                stack.append(value &+ UInt64(bitPattern: try cursor.signed()))
            case 0x96: break
            default: throw RemoteMemory.Unreadable()
            }
        }
        return try pop()
    }

    private func operate(_ code: UInt8, _ first: UInt64, _ second: UInt64) -> UInt64 {
        let (signed, other) = (Int64(bitPattern: first), Int64(bitPattern: second))
        return switch code {
        case 0x1a: first & second
        case 0x1c: first &- second
        case 0x1e: first &* second
        case 0x21: first | second
        case 0x22: first &+ second
        case 0x24: first << second
        case 0x25: first >> second
        case 0x27: first ^ second
        case 0x29: signed == other ? 1 : 0
        case 0x2a: signed >= other ? 1 : 0
        case 0x2b: signed > other ? 1 : 0
        case 0x2c: signed <= other ? 1 : 0
        case 0x2d: signed < other ? 1 : 0
        default: signed != other ? 1 : 0
        }
    }
}
