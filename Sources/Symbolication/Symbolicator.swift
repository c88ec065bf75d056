/// Names the functions, files and lines behind the addresses of a process, from the files that were mapped into it.
///
/// A name is given only where the address lies inside that function's extent, and nothing where the file at an image's path
/// is not the one that was mapped. Files are opened on first use and read, never mapped, so that a file which is damaged,
/// replaced or cut short meanwhile does no harm.
///
/// For use from one thread at a time. Allocates and reads files: not for signal handlers.
public final class Symbolicator {
    /// Bytes of debug information kept in memory; above it the files that were opened before are closed.
    private static let debugBudgetBytes: UInt64 = 512 << 20

    /// Addresses whose frames are remembered; a process that faults again does so at the same ones.
    private static let mostRemembered = 4096

    private struct Key: Hashable {
        var address: UInt64
        var isReturnAddress: Bool
    }

    private enum Cached {
        case unreadable
        case open(ImageSymbols)
    }

    private let images: [SymbolImage]
    private let table: AddressTable<Int>
    private var opened: [Int: Cached] = [:]
    private var debugBytes: UInt64 = 0
    private var remembered: [Key: [SymbolicatedFrame]] = [:]

    /// Creates a symbolicator; no file is opened yet.
    ///
    /// - Parameter images: What was mapped into the process that the addresses come from.
    public init(images: [SymbolImage]) {
        self.images = images
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
    public func symbolicate(address: UInt64, isReturnAddress: Bool) -> [SymbolicatedFrame] {
        let key = Key(address: address, isReturnAddress: isReturnAddress)
        if let frames = remembered[key] {
            return frames
        }
        // A call can be the last instruction of a function that never returns: the address behind it is another function's.
        let lookedUp = isReturnAddress ? address &- 1 : address
        let frames = symbols(at: lookedUp)?.frames(at: lookedUp, reported: address) ?? []
        if remembered.count >= Self.mostRemembered {
            remembered.removeAll()
        }
        remembered[key] = frames
        return frames
    }

    /// Forgets all frames and closes all files; they are opened again when they are needed.
    public func releaseCaches() {
        remembered.removeAll()
        opened.removeAll()
        debugBytes = 0
    }

    private func symbols(at address: UInt64) -> ImageSymbols? {
        guard let index = table.entries(containing: address).first?.value else { return nil }
        switch opened[index] {
        case .open(let symbols): return symbols
        case .unreadable: return nil
        case nil: return open(index)
        }
    }

    private func open(_ index: Int) -> ImageSymbols? {
        guard let symbols = ImageSymbols(images[index]) else {
            opened[index] = .unreadable
            return nil
        }
        if debugBytes + symbols.debugBytes > Self.debugBudgetBytes {
            opened.removeAll()
            debugBytes = 0
        }
        opened[index] = .open(symbols)
        debugBytes += symbols.debugBytes
        return symbols
    }
}
