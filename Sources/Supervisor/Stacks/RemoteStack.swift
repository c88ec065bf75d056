/// The stack of a thread that stands still in another process.
enum RemoteStack {
    /// How many frames are told of.
    static let mostFrames = 48

    /// Walks it: by unwind tables, and by the frame pointer where there are none.
    ///
    /// - Parameters:
    ///   - registers: Those of the thread.
    ///   - images: The programs and libraries of its process.
    ///   - memory: The memory of its process.
    /// - Returns: An address within each frame's instruction, innermost first. It ends where the walk makes no sense.
    static func walk(_ registers: [UInt64], _ images: inout LoadedImages, _ memory: RemoteMemory) -> [UInt64] {
        var current = RemoteRegisters(registers)
        var addresses: [UInt64] = []
        // Of the innermost frame, and of one that a signal has interrupted, the next instruction is meant; else the one after a call.
        var isExact = true
        while addresses.count < mostFrames, let counter = current.programCounter, counter != 0 {
            let address = isExact ? counter : counter &- 1
            addresses.append(address)
            guard let next = try? caller(of: current, at: address, &images, memory) else { break }
            // A caller's frame is further out. A signal's handler may run on a stack of its own.
            guard let inner = current[RemoteRegisters.stackPointer],
                let outer = next.registers[RemoteRegisters.stackPointer],
                outer > inner || next.isSignalFrame
            else { break }
            current = next.registers
            isExact = next.isSignalFrame
        }
        return addresses
    }

    private static func caller(
        of registers: RemoteRegisters,
        at address: UInt64,
        _ images: inout LoadedImages,
        _ memory: RemoteMemory
    ) throws(RemoteMemory.Unreadable) -> (registers: RemoteRegisters, isSignalFrame: Bool) {
        guard let index = images.index(of: address), let table = images.images[index].table,
            let entry = try table.entry(covering: address)
        else { return (try registers.callerByFramePointer(memory), false) }
        guard entry.returnColumn == UInt64(RemoteRegisters.count - 1) else { throw RemoteMemory.Unreadable() }
        let rules = try FrameRules(entry, upTo: address)
        // The outermost function has no caller.
        guard rules.rules[RemoteRegisters.count - 1] != nil else { throw RemoteMemory.Unreadable() }
        return (try registers.caller(rules, memory), entry.isSignalFrame)
    }
}
