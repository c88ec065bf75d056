internal import Symbolication

/// The frames of one address on a stack: the function that was called, and before it what was inlined into it there.
struct FrameChain: Equatable {
    /// The innermost first; the last is the function that was called.
    var frames: [CrashReport.Frame]
    /// How many frames were left out before this one.
    var gap: Int

    /// Takes the frames of a thread apart.
    static func chains(of frames: [CrashReport.Frame]) -> [FrameChain] {
        var chains: [FrameChain] = []
        var chain: [CrashReport.Frame] = []
        var next = 0
        func end() {
            guard let first = chain.first, let last = chain.last else { return }
            chains.append(FrameChain(frames: chain, gap: first.index > next ? first.index &- next : 0))
            next = last.index < .max ? last.index + 1 : .max
            chain = []
        }
        for frame in frames {
            // A chain that nothing ends is damage, but not ours.
            if let before = chain.last, before.address != frame.address { end() }
            chain.append(frame)
            if !frame.inlined { end() }
        }
        end()
        return chains
    }

    /// Puts the frames of a thread together, and numbers them anew.
    static func frames(of chains: [FrameChain]) -> [CrashReport.Frame] {
        var frames: [CrashReport.Frame] = []
        var next = 0
        for chain in chains {
            next = next.addingReportingOverflow(chain.gap).overflow ? .max : next + chain.gap
            for var frame in chain.frames {
                frame.index = next
                next = next < .max ? next + 1 : .max
                frames.append(frame)
            }
        }
        return frames
    }

    /// The frames of the same address, as far as a symbolicator knows them.
    ///
    /// - Parameters:
    ///   - symbolicator: Knows the images.
    ///   - images: The images of the report.
    ///   - used: Gets the place of the image, too, that the address lies in.
    /// - Returns: Nil where nothing more is known than before.
    func named(by symbolicator: Symbolicator, images: [CrashReport.Image], _ used: inout Set<Int>) -> FrameChain? {
        guard let physical = frames.last else { return nil }
        let address = physical.address.rawValue
        let place = image(of: physical, in: images)
        if let place { used.insert(place) }
        // Where a function goes on that awaits is its first address.
        let isReturnAddress = physical.kind == .returnAddress
        let symbols = symbolicator.symbolicate(address: address, isReturnAddress: isReturnAddress)
        let known = knowledge(symbols.map { ($0.function, $0.line) })
        guard !symbols.isEmpty, known >= knowledge(frames.map { ($0.function, $0.line) }) else { return nil }
        let first = frames.first?.index ?? 0
        let named = symbols.enumerated().map { position, symbol in
            CrashReport.Frame(
                symbol,
                index: first &+ position,
                address: physical.address,
                kind: physical.kind,
                image: place,
                of: images
            )
        }
        return FrameChain(frames: named, gap: gap)
    }

    private func image(of frame: CrashReport.Frame, in images: [CrashReport.Image]) -> Int? {
        if let image = images.firstIndex(where: { $0.base <= frame.address && frame.address < $0.end }) { return image }
        return frame.image.flatMap { images.indices.contains($0) ? $0 : nil }
    }

    /// Lines say more than names, and names more than nothing.
    private func knowledge(_ frames: [(function: String?, line: Int?)]) -> Int {
        if frames.contains(where: { $0.line != nil }) { return 2 }
        return frames.contains { $0.function != nil } ? 1 : 0
    }
}
