/// Names the functions, files and lines behind the addresses of a process, from the files that were mapped into it.
///
/// A name is given only where the address lies inside that function's extent, and nothing where no file is found that is the one
/// that was mapped, or its debug file. Files are opened on first use and read, never mapped, so that a file which is damaged,
/// replaced or cut short meanwhile does no harm.
///
/// For use from one thread at a time. Allocates and reads files: not for signal handlers.
package final class Symbolicator {
    /// Addresses whose frames are remembered; a process that faults again does so at the same ones.
    private static let mostRemembered = 4096

    private struct Key: Hashable {
        var address: UInt64
        var isReturnAddress: Bool
    }

    private let images: [SymbolImage]
    private let table: AddressTable<Int>
    private let files: SymbolFiles
    private var remembered: [Key: [SymbolicatedFrame]] = [:]

    /// Creates a symbolicator; no file is opened yet.
    ///
    /// - Parameters:
    ///   - images: What was mapped into the process that the addresses come from.
    ///   - search: Where files with symbols are looked for, beside the images' paths.
    package convenience init(images: [SymbolImage], search: DebugFileSearch = .standard) {
        self.init(images: images, files: SymbolFiles(search, budget: .agent))
    }

    package init(images: [SymbolImage], files: SymbolFiles) {
        self.images = images
        self.files = files
        self.table = AddressTable(
            images.enumerated().map { .init(start: $0.element.base, end: $0.element.end, value: $0.offset) }
        )
    }

    /// What is known of the functions that were active at an address.
    ///
    /// - Parameters:
    ///   - address: The address, in the process that the images were mapped into.
    ///   - isReturnAddress: Whether the address is that behind a call; then the call itself is looked up.
    /// - Returns: The innermost function first, the physical one last; empty when nothing is known.
    package func symbolicate(address: UInt64, isReturnAddress: Bool) -> [SymbolicatedFrame] {
        let key = Key(address: address, isReturnAddress: isReturnAddress)
        if let frames = remembered[key] {
            return frames
        }
        let frames = frames(at: address, isReturnAddress: isReturnAddress)
        if remembered.count >= Self.mostRemembered {
            remembered.removeAll()
        }
        remembered[key] = frames
        return frames
    }

    /// Whether an address is what a signal handler returns to: the frame before it on a stack is the handler, and the one after it was
    /// interrupted at its address, instead of having made a call.
    ///
    /// - Parameter address: The address, in the process that the images were mapped into.
    /// - Returns: Whether it is.
    package func isSignalReturn(_ address: UInt64) -> Bool {
        guard let image = image(at: address), let symbols = files.symbols(of: image) else { return false }
        return symbols.isSignalReturn(at: address &- image.base &+ symbols.linkedBase)
    }

    /// Where the names in an image come from, by its place in the list; nil for one that no name was asked of.
    package func source(ofImage index: Int) -> ImageSymbolSource? {
        files.source(of: images[index])
    }

    private func frames(at address: UInt64, isReturnAddress: Bool) -> [SymbolicatedFrame] {
        if isReturnAddress, isSignalReturn(address) { return [.signalReturn] }
        // A call can be the last instruction of a function that never returns: the address behind it is another function's.
        let lookedUp = isReturnAddress ? address &- 1 : address
        guard let image = image(at: lookedUp), let symbols = files.symbols(of: image) else { return [] }
        let slide = symbols.linkedBase &- image.base
        return symbols.frames(at: lookedUp &+ slide, reported: address &+ slide)
    }

    private func image(at address: UInt64) -> SymbolImage? {
        table.entries(containing: address).first.map { images[$0.value] }
    }
}
