/// What one image's files know: its symbols and its debug information.
final class ImageSymbols {
    /// Bytes of memory that the debug information takes, for the owner's budget.
    let debugBytes: UInt64

    /// The address of the image's first mapped byte, as linked.
    let linkedBase: UInt64

    private let binary: ELFFile?
    private let symbols: SymbolTable
    private let debugInformation: DebugInformation?

    /// Reads what the files of an image tell; nil when there is none.
    ///
    /// - Parameters:
    ///   - files: The files.
    ///   - finder: Finds what these refer to.
    ///   - mostDebugBytes: Debug information beyond this, or beyond what a limit of memory leaves, is not read: only symbol names are given
    ///     then.
    init?(_ files: ImageFiles, finder: DebugFileFinder, mostDebugBytes: UInt64) {
        guard let base = files.binary ?? files.debug else { return nil }
        let symbolFile = [files.binary, files.debug].lazy.compactMap { $0 }.first(where: \.hasSymbols)
        let debugFile = files.debug ?? base
        let debugBytes = debugFile.debugInformationBytes()
        let isAffordable =
            debugBytes <= mostDebugBytes && (debugBytes == 0 || SymbolFiles.Budget.isThereRoom(for: debugBytes))
        self.linkedBase = base.linkedBase
        self.binary = files.binary
        self.symbols = SymbolTable(of: symbolFile ?? base)
        self.debugInformation = isAffordable ? DebugInformation(of: debugFile, finder: finder) : nil
        self.debugBytes = isAffordable ? debugBytes : 0
    }

    /// The functions active at an address, innermost first.
    ///
    /// - Parameters:
    ///   - linked: The address that is looked up, as linked.
    ///   - reported: The address that offsets are counted to, as linked.
    /// - Returns: Nothing when no function contains the address.
    func frames(at linked: UInt64, reported: UInt64) -> [SymbolicatedFrame] {
        let symbol = symbols.symbol(at: linked)
        let offset = symbol.map { reported &- $0.start }
        var location = SourceLocation.unknown
        for unit in debugInformation?.units(containing: linked) ?? [] {
            var scopes = unit.scopes(at: linked)
            let unitLocation = unit.location(of: linked, in: scopes)
            guard !scopes.isEmpty else {
                // Assembly and the compiler's own helpers have lines, but no function.
                location = location == .unknown ? unitLocation : location
                continue
            }
            var physical = scopes.removeFirst()
            let name = physical.functionName() ?? symbol?.name
            return inlinedFrames(scopes, in: unit, innermost: unitLocation) { outermost in
                SymbolicatedFrame(rawName: name, functionOffset: offset, location: outermost)
            }
        }
        guard let symbol else { return [] }
        var frame = SymbolicatedFrame(rawName: symbol.name, functionOffset: offset, location: location)
        frame.isData = symbol.isData
        return [frame]
    }

    /// Whether what a signal handler returns to begins at an address: the C library's call of rt_sigreturn(2).
    ///
    /// Told by its code, as debuggers do: its symbol covers nothing, and most libraries are stripped of it.
    ///
    /// - Parameter linked: The address, as linked.
    /// - Returns: Whether it is.
    func isSignalReturn(at linked: UInt64) -> Bool {
        binary?.code(at: linked, count: Self.signalReturn.count) == Self.signalReturn
    }

    /// `mov $15, %rax` and `syscall` (glibc, sysdeps/unix/sysv/linux/x86_64/libc_sigaction.c).
    private static let signalReturn: [UInt8] = [0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05]

    /// Frames from the innermost scope outwards: each is where the one inside it was called.
    private func inlinedFrames(
        _ scopes: [DebugEntry],
        in unit: DebugUnit,
        innermost: SourceLocation,
        physical: (SourceLocation) -> SymbolicatedFrame
    ) -> [SymbolicatedFrame] {
        var frames: [SymbolicatedFrame] = []
        var location = innermost
        for var scope in scopes.reversed() {
            frames.append(SymbolicatedFrame(rawName: scope.functionName(), location: location, inlined: true))
            location = unit.callSite(of: scope)
        }
        return frames + [physical(location)]
    }
}
