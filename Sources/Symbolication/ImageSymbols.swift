/// What one image's file knows: its symbols and its debug information.
final class ImageSymbols {
    /// Debug information beyond this many bytes is not read: only symbol names are given then.
    private static let mostDebugBytes: UInt64 = 256 << 20

    /// Bytes of memory that the file's debug information takes, for the owner's budget.
    let debugBytes: UInt64

    private let file: ELFFile
    private let symbols: SymbolTable
    private let debugInformation: DebugInformation?
    /// What is added to an address of the process to get the address as linked.
    private let slide: UInt64

    /// Opens an image's file; nil when it cannot be read, or is not the one that was mapped.
    ///
    /// - Parameter image: The image.
    init?(_ image: SymbolImage) {
        guard let file = ELFFile(path: image.path) else { return nil }
        if let expected = image.buildID, expected.lowercased() != file.buildID {
            return nil
        }
        let debugBytes = file.debugInformationBytes()
        let isAffordable = debugBytes <= Self.mostDebugBytes
        self.file = file
        self.slide = file.linkedBase &- image.base
        self.symbols = SymbolTable(of: file)
        self.debugInformation = isAffordable ? DebugInformation(of: file) : nil
        self.debugBytes = isAffordable ? debugBytes : 0
    }

    /// The functions active at an address of the process, innermost first.
    ///
    /// - Parameters:
    ///   - address: The address that is looked up.
    ///   - reported: The address that offsets are counted to.
    /// - Returns: Nothing when no function contains the address.
    func frames(at address: UInt64, reported: UInt64) -> [SymbolicatedFrame] {
        let linked = address &+ slide
        let symbol = symbols.symbol(at: linked, in: file)
        let offset = symbol.map { reported &+ slide &- $0.start }
        var location = SourceLocation.unknown
        for unit in debugInformation?.units(containing: linked) ?? [] {
            var scopes = unit.scopes(at: linked)
            let unitLocation = unit.location(of: linked)
            guard !scopes.isEmpty else {
                // Assembly and the compiler's own helpers have lines, but no function.
                location = location == .unknown ? unitLocation : location
                continue
            }
            var physical = scopes.removeFirst()
            let name = physical.functionName() ?? symbol?.name
            return inlinedFrames(scopes, in: unit, innermost: unitLocation) { outermost in
                SymbolicatedFrame(rawName: name, functionOffset: offset, location: outermost, inlined: false)
            }
        }
        guard let symbol else { return [] }
        return [SymbolicatedFrame(rawName: symbol.name, functionOffset: offset, location: location, inlined: false)]
    }

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
            frames.append(
                SymbolicatedFrame(
                    rawName: scope.functionName(),
                    functionOffset: nil,
                    location: location,
                    inlined: true
                )
            )
            location = unit.callSite(of: scope)
        }
        return frames + [physical(location)]
    }
}
