internal import LinuxSystem

/// The files of images that were opened, for as many symbolicators as one likes.
///
/// For use from one thread at a time.
package final class SymbolFiles {
    /// Bytes of debug information that are read of one image, and kept in memory of all.
    package struct Budget {
        /// Of a larger image only the names of symbols are given.
        package var imageBytes: UInt64
        /// Above it the files that were opened before are closed.
        package var totalBytes: UInt64

        /// For a process that has other things to do.
        package static let agent = Budget(imageBytes: 256 << 20, totalBytes: 512 << 20)
        /// For a command that somebody waits for.
        package static let command = Budget(imageBytes: 4 << 30, totalBytes: 6 << 30)

        /// Whether a limit leaves the memory that debug information takes while it is read: beyond it, the kernel would kill the process.
        ///
        /// A file of 61 MB with 40 MB of debug information took 50 to 60 MB.
        ///
        /// - Parameters:
        ///   - bytes: How much debug information there is.
        ///   - room: What is left.
        /// - Returns: Whether there is room.
        static func isThereRoom(for bytes: UInt64, in room: UInt64 = MemoryRoom.bytes()) -> Bool {
            room > 8 << 20 && bytes <= (room - 8 << 20) / 5 * 4
        }
    }

    private struct Key: Hashable {
        var path: String
        var buildID: String?

        init(_ image: SymbolImage) {
            path = image.path
            buildID = image.buildID
        }
    }

    private let finder: DebugFileFinder
    private let budget: Budget
    /// Nil for an image whose files cannot be read.
    private var opened: [Key: ImageSymbols?] = [:]
    private var sources: [Key: ImageSymbolSource] = [:]
    private var debugBytes: UInt64 = 0

    /// Makes an empty set; no file is opened yet.
    package init(_ search: DebugFileSearch, budget: Budget) {
        finder = DebugFileFinder(search)
        self.budget = budget
    }

    /// What the files of an image know; nil when there are none.
    func symbols(of image: SymbolImage) -> ImageSymbols? {
        opened[Key(image)] ?? open(image)
    }

    /// Where the names in an image come from; nil when it was not asked for any.
    func source(of image: SymbolImage) -> ImageSymbolSource? {
        sources[Key(image)]
    }

    /// Closes them; those that are asked for again are opened again.
    package func closeAll() {
        opened.removeAll()
        debugBytes = 0
    }

    private func open(_ image: SymbolImage) -> ImageSymbols? {
        let key = Key(image)
        let files = finder.files(of: image)
        let symbols = ImageSymbols(files, finder: finder, mostDebugBytes: budget.imageBytes)
        // Only now it is known whether libdw is there.
        sources[key] = ImageSymbolSource(files)
        guard let symbols else {
            opened[key] = .some(nil)
            return nil
        }
        if debugBytes + symbols.debugBytes > budget.totalBytes {
            opened.removeAll()
            debugBytes = 0
        }
        opened[key] = symbols
        debugBytes += symbols.debugBytes
        return symbols
    }
}
