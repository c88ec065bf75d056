internal import Glibc

/// Where code of an executable comes from; what allows less comes later.
package enum FunctionOrigin: UInt8, Sendable {
    /// From Swift.
    case swift
    /// From another language, and somebody vouches for it.
    case trusted
    /// From a function in another language that was inlined into one in Swift.
    case inlinedNative
    /// From another language.
    case native
    /// Nothing is known of it.
    case unknown
    /// From Swift, inlined into a function in another language that was in turn inlined into one in Swift.
    case withinNative

    // Of a static standard library.
    /// A function by which the runtime ends a process whose own code is at fault.
    case swiftFailure
    /// That by which it ends a program with an error that nobody caught.
    case errorInMain
    /// Any other function of libswiftCore.
    case swiftCore
    /// A function of libswift_Concurrency.
    case taskRuntime
    /// A function of another archive of the toolchain's.
    case library
}

/// Code of other languages that somebody vouches for.
package struct TrustedCode: Sendable, Hashable {
    /// Folders of source files, by name: what SwiftPM calls a target, or module.
    package var modules: Set<String>
    /// Symbols, or with a star at the end the beginnings of symbols.
    package var functions: Set<String>

    /// Names the code.
    package init(modules: Set<String> = [], functions: Set<String> = []) {
        self.modules = modules
        self.functions = functions
    }

    /// Whether a source file, by its path below the folder that it was compiled in, is of one of the modules.
    func hasModule(ofFile path: String, compiledIn folder: String?) -> Bool {
        guard !modules.isEmpty else { return false }
        var path = Substring(path)
        if let folder, path.hasPrefix(folder + "/") { path = path.dropFirst(folder.utf8.count + 1) }
        return path.split(separator: "/").dropLast().contains { modules.contains(String($0)) }
    }

    /// Whether a symbol is one of the functions.
    func hasFunction(_ symbol: String) -> Bool {
        functions.contains { $0.hasSuffix("*") ? symbol.hasPrefix($0.dropLast()) : symbol == $0 }
    }
}

/// Tells Swift functions of an executable from those of libraries in other languages that are linked into it.
///
/// By the language of the compilation unit where there is debug information, else by the symbol: the Swift compiler marks its own.
/// Code without a symbol is unknown. Only debug information tells what was inlined. Made once and never changed, so that it may be
/// asked from any thread, a crash thread included: nothing is allocated and no lock is taken.
@safe
package final class FunctionOrigins: Sendable {
    /// A range of addresses, as linked, with what is known of it.
    struct Piece {
        var start: UInt64
        var end: UInt64
        var origin: FunctionOrigin
    }

    private let image: SymbolImage
    private let linkedBase: UInt64
    /// Ranges by start, without overlaps, for ever: one after the other, start and end.
    private nonisolated(unsafe) let bounds: UnsafeMutablePointer<UInt64>
    private nonisolated(unsafe) let origins: UnsafeMutablePointer<FunctionOrigin>
    private let count: Int
    /// Where the package ends in a program with a static standard library, and where that ends; nil in any other.
    private let packageEnd: UInt64?
    private let textEnd: UInt64

    /// The guards of the executable's thread-local variables.
    package let threadLocalGuards: ThreadLocalGuards

    /// Whether only what the executable exports is known, if anything: it was stripped of its symbols, and nobody has them.
    package let isStripped: Bool

    /// Whether a file could not be read that tells more: another attempt may.
    package let isUnread: Bool

    /// Whether the standard library is static, and its code could not be told from the package's.
    package let isMixed: Bool

    /// Whether that is the debug information, and libdw is not there to read it: no other attempt will.
    package let lacksLibrary: Bool

    /// Whether debug information was not read because a limit of memory leaves no room for it.
    package let lacksRoom: Bool

    /// Whether debug information could not be read in full: this process lives with that, and the next one reads again.
    private let isPartial: Bool

    /// Reads the symbols and the debug information of an executable, and of its separate debug file where there is one.
    ///
    /// - Parameters:
    ///   - executable: The file as it was mapped.
    ///   - files: What was found of it; nil to look for it.
    ///   - trusted: Code that somebody vouches for.
    ///   - mayLoad: Whether libdw may be loaded now, for debug information: on the crash thread it may not.
    ///   - isStatic: Whether the standard library is a part of it.
    ///   - search: Where debug files are looked for.
    package init(
        of executable: SymbolImage,
        in files: CodeFiles? = nil,
        trusting trusted: TrustedCode,
        mayLoad: Bool = true,
        isStatic: Bool = false,
        search: DebugFileSearch = .standard
    ) {
        let files = files ?? CodeFiles(of: executable, search: search)
        let finder = files.finder
        let candidates = files.all
        // A stripped file still names what it exports.
        let symbols = candidates.first(where: \.hasSymbols) ?? candidates.first
        threadLocalGuards = symbols.map { ThreadLocalGuards(of: $0) } ?? ThreadLocalGuards(offsets: nil)
        isStripped = symbols?.hasSymbols != true
        let informed = candidates.first(where: \.hasDebugInformation)
        let debugBytes = informed?.debugInformationBytes() ?? 0
        lacksRoom = debugBytes > 0 && !SymbolFiles.Budget.isThereRoom(for: debugBytes)
        let isWanted = informed != nil && debugBytes <= SymbolFiles.Budget.agent.imageBytes && !lacksRoom
        // What would be told of inlined code is not known then: nothing is cleared.
        let isLibraryAbsent = isWanted && !((mayLoad || DebugLibrary.isSettled) && DebugLibrary.load())
        lacksLibrary = isLibraryAbsent && DebugLibrary.problem != nil
        let information =
            isWanted && !isLibraryAbsent ? informed.flatMap { DebugInformation(of: $0, finder: finder) } : nil
        isPartial = lacksRoom || isWanted && information?.isWhole != true
        image = executable
        linkedBase = candidates.first?.linkedBase ?? 0
        let list = symbols.map { SymbolTable(of: $0) }
        let functions = list?.functions ?? []
        isUnread =
            candidates.isEmpty || !isStripped && functions.isEmpty
            || informed == nil && finder.metUnreadable || isLibraryAbsent
        let named = isStatic ? list.map { list in functions.map { Self.named($0, in: list) } } ?? [] : []
        let runtime = isStatic ? Self.staticRuntime(named, symbols) : nil
        isMixed = isStatic && runtime == nil
        packageEnd = runtime?.packageEnd
        textEnd = runtime?.end ?? 0
        var pieces =
            isMixed ? [] : list.map { Self.pieces(of: functions, in: $0, information, trusted, runtime, named) } ?? []
        if !isStripped { pieces = Self.withoutGaps(pieces) }
        if let informed, let information {
            let inlined = InlinedCode(from: informed.lowestCode, trusting: trusted)
            pieces = Self.overlay(pieces, with: inlined.pieces(in: information))
        }
        count = pieces.count
        unsafe bounds = .allocate(capacity: max(2 * count, 1))
        unsafe origins = .allocate(capacity: max(count, 1))
        for (index, piece) in pieces.enumerated() {
            unsafe (bounds + 2 * index).initialize(to: piece.start)
            unsafe (bounds + 2 * index + 1).initialize(to: piece.end)
            unsafe (origins + index).initialize(to: piece.origin)
        }
    }

    // MARK: For the next process

    /// What the program's next process may take over instead of reading the files again; nil where another attempt may tell more.
    ///
    /// Words of 64 bits in the order of this machine's bytes: the linked base, what is known of the file, where a static standard library
    /// begins and ends, how many guards there are, and how many ranges. The guards follow, then the ranges, then a byte for the origin of each.
    package func encoded() -> [UInt8]? {
        guard !isUnread, !lacksLibrary, !isPartial else { return nil }
        let guards = threadLocalGuards.list
        var words: [UInt64] = [
            linkedBase,
            (isStripped ? 1 : 0) | (isMixed ? 2 : 0) | (packageEnd != nil ? 4 : 0) | (guards != nil ? 8 : 0),
            packageEnd ?? 0, textEnd, UInt64(guards?.count ?? 0), UInt64(count),
        ]
        words += (guards ?? []).map { UInt64(bitPattern: Int64($0)) }
        unsafe words.append(contentsOf: UnsafeBufferPointer(start: bounds, count: 2 * count))
        var bytes = unsafe words.withUnsafeBytes { unsafe Array($0) }
        for index in 0..<count { bytes.append(unsafe origins[index].rawValue) }
        return bytes
    }

    /// Takes over what a process of the same program has read.
    ///
    /// - Parameters:
    ///   - bytes: What `encoded()` gave there; nil is the answer to anything else.
    ///   - executable: The file as it is mapped now.
    package init?(decoding bytes: ArraySlice<UInt8>, of executable: SymbolImage) {
        func word(_ index: Int) -> UInt64 {
            unsafe bytes.withUnsafeBytes { unsafe $0.loadUnaligned(fromByteOffset: 8 * index, as: UInt64.self) }
        }
        let header = 6
        guard bytes.count >= 8 * header, word(1) < 16,
            let guards = Int(exactly: word(4)), guards <= bytes.count / 8, word(1) & 8 != 0 || guards == 0,
            let count = Int(exactly: word(5)), count <= bytes.count / 17,
            bytes.count == 8 * (header + guards + 2 * count) + count
        else { return nil }
        var offsets: [Int32] = []
        for index in 0..<guards {
            guard let offset = Int32(exactly: Int64(bitPattern: word(header + index))) else { return nil }
            offsets.append(offset)
        }
        let bounds = UnsafeMutablePointer<UInt64>.allocate(capacity: max(2 * count, 1))
        let origins = UnsafeMutablePointer<FunctionOrigin>.allocate(capacity: max(count, 1))
        var last: UInt64 = 0
        for index in 0..<count {
            let place = header + guards + 2 * index
            let (start, end) = (word(place), word(place + 1))
            let code = bytes[bytes.startIndex + 8 * (header + guards + 2 * count) + index]
            guard start >= last, end > start, let origin = FunctionOrigin(rawValue: code) else {
                unsafe bounds.deallocate()
                unsafe origins.deallocate()
                return nil
            }
            unsafe (bounds + 2 * index).initialize(to: start)
            unsafe (bounds + 2 * index + 1).initialize(to: end)
            unsafe (origins + index).initialize(to: origin)
            last = end
        }
        image = executable
        linkedBase = word(0)
        isStripped = word(1) & 1 != 0
        isMixed = word(1) & 2 != 0
        packageEnd = word(1) & 4 != 0 ? word(2) : nil
        textEnd = word(3)
        threadLocalGuards = ThreadLocalGuards(offsets: word(1) & 8 != 0 ? offsets : nil)
        isUnread = false
        lacksLibrary = false
        lacksRoom = false
        isPartial = false
        self.count = count
        unsafe self.bounds = bounds
        unsafe self.origins = origins
    }

    deinit {
        unsafe bounds.deallocate()
        unsafe origins.deallocate()
    }

    /// Where the function at an address of the process comes from.
    ///
    /// - Parameter address: An address in the function, not behind its last instruction.
    /// - Returns: Its origin; unknown for addresses elsewhere.
    package func origin(at address: UInt64) -> FunctionOrigin {
        guard image.contains(address) else { return .unknown }
        let linked = address &- image.base &+ linkedBase
        var (low, high) = (0, count)
        while low < high {
            let middle = low + (high - low) / 2
            if unsafe bounds[2 * middle] <= linked { low = middle + 1 } else { high = middle }
        }
        guard low > 0, unsafe linked < bounds[2 * low - 1] else {
            // Functions of the toolchain's that have no symbol.
            return packageEnd.map { linked > $0 && linked < textEnd } == true ? .library : .unknown
        }
        return unsafe origins[low - 1]
    }

    /// More bytes between functions than an alignment needs are somebody's code.
    private static let mostPadding: UInt64 = 15

    private static func pieces(
        of functions: [SymbolTable.Function],
        in symbols: SymbolTable,
        _ information: DebugInformation?,
        _ trusted: TrustedCode,
        _ runtime: StaticRuntime?,
        _ named: [StaticRuntime.Function]
    ) -> [Piece] {
        var pieces: [Piece] = []
        var unit: DebugUnit?
        var covered: Range<UInt64> = 0..<0
        for (index, symbol) in functions.enumerated() {
            if let origin = runtime?.origin(of: named[index]) {
                add(Piece(start: symbol.start, end: symbol.end, origin: origin), to: &pieces)
                continue
            }
            if !covered.contains(symbol.start) {
                let found = information?.claim(at: symbol.start)
                unit = found?.unit
                covered = found?.range ?? 0..<0
            }
            add(
                Piece(start: symbol.start, end: symbol.end, origin: origin(of: symbol, in: symbols, unit, trusted)),
                to: &pieces
            )
        }
        guard let information else { return pieces }
        let unnamed = unnamedPieces(between: pieces, information, trusted)
        return (pieces + unnamed).sorted { $0.start < $1.start }.reduce(into: []) { add($1, to: &$0) }
    }

    private static func named(_ symbol: SymbolTable.Function, in symbols: SymbolTable) -> StaticRuntime.Function {
        StaticRuntime.Function(start: symbol.start, name: symbols.name(of: symbol), isGlobal: symbol.isGlobal)
    }

    private static func staticRuntime(_ functions: [StaticRuntime.Function], _ file: ELFFile?) -> StaticRuntime? {
        guard let header = file?.sections.first(where: { $0.name == ".text" })?.header else { return nil }
        let text = header.sh_addr..<header.sh_addr + header.sh_size
        return StaticRuntime(functions.filter { text.contains($0.start) }, end: text.upperBound)
    }

    /// Functions without a symbol, which only the debug information knows: compilers make some with private linkage.
    private static func unnamedPieces(
        between pieces: [Piece],
        _ information: DebugInformation,
        _ trusted: TrustedCode
    ) -> [Piece] {
        var unnamed: [Piece] = []
        var next = 0
        for (unit, range) in information.claims {
            // Claims come by their start, and so do pieces.
            while next < pieces.count, pieces[next].end <= range.lowerBound { next += 1 }
            let origin: FunctionOrigin = unit.isSwift ? .swift : unit.isTrusted(by: trusted) ? .trusted : .native
            var start = range.lowerBound
            for piece in pieces[next...] {
                if piece.start > start {
                    unnamed.append(Piece(start: start, end: min(piece.start, range.upperBound), origin: origin))
                }
                start = max(start, piece.end)
                if start >= range.upperBound { break }
            }
            if start < range.upperBound { unnamed.append(Piece(start: start, end: range.upperBound, origin: origin)) }
        }
        return unnamed
    }

    /// The longest function that the Swift compiler makes without a symbol and without debug information.
    private static let mostUnnamed: UInt64 = 4096

    /// Gives what lies between two Swift functions to Swift.
    ///
    /// The compiler gives some specialisations private linkage, and linkers lay out code by object files. Other compilers name all
    /// functions, static ones, too.
    private static func withoutGaps(_ pieces: [Piece]) -> [Piece] {
        pieces.reduce(into: []) { joined, piece in
            if let last = joined.last, last.origin == .swift, piece.origin == .swift,
                piece.start - last.end <= mostUnnamed
            {
                joined[joined.count - 1].end = piece.end
            } else {
                joined.append(piece)
            }
        }
    }

    /// Puts pieces over others, where they allow less; both by start and without overlaps.
    static func overlay(_ pieces: [Piece], with upper: [Piece]) -> [Piece] {
        guard !upper.isEmpty else { return pieces }
        var result: [Piece] = []
        var next = 0
        for piece in pieces {
            var start = piece.start
            while next < upper.count, upper[next].end <= start { next += 1 }
            for part in upper[next...].prefix(while: { $0.start < piece.end })
            where part.origin.rawValue > piece.origin.rawValue {
                let covered = max(part.start, start)..<min(part.end, piece.end)
                if start < covered.lowerBound {
                    result.append(Piece(start: start, end: covered.lowerBound, origin: piece.origin))
                }
                result.append(Piece(start: covered.lowerBound, end: covered.upperBound, origin: part.origin))
                start = covered.upperBound
            }
            if start < piece.end { result.append(Piece(start: start, end: piece.end, origin: piece.origin)) }
        }
        return result
    }

    private static func origin(
        of symbol: SymbolTable.Function,
        in symbols: SymbolTable,
        _ unit: DebugUnit?,
        _ trusted: TrustedCode
    ) -> FunctionOrigin {
        if let unit {
            if unit.isSwift { return .swift }
            if unit.isTrusted(by: trusted, at: symbol.start) { return .trusted }
        } else if symbols.isSwift(symbol) {
            return .swift
        }
        return !trusted.functions.isEmpty && trusted.hasFunction(symbols.name(of: symbol)) ? .trusted : .native
    }

    /// Adds a piece behind those that begin earlier; where two claim the same code, the one that allows less has it.
    private static func add(_ piece: Piece, to pieces: inout [Piece]) {
        guard let last = pieces.last else {
            pieces.append(piece)
            return
        }
        var piece = piece
        if piece.start < last.start {
            // Within what allows less, and was divided by it.
            piece.start = last.start
            guard piece.start < piece.end else { return }
        }
        if piece.start >= last.end {
            if piece.origin == last.origin, piece.start - last.end <= mostPadding {
                pieces[pieces.count - 1].end = piece.end
            } else {
                pieces.append(piece)
            }
            return
        }
        if piece.origin == last.origin {
            pieces[pieces.count - 1].end = max(last.end, piece.end)
        } else if piece.origin.rawValue > last.origin.rawValue {
            pieces[pieces.count - 1].end = piece.start
            if last.start == piece.start { pieces.removeLast() }
            add(piece, to: &pieces)
            if last.end > piece.end { pieces.append(Piece(start: piece.end, end: last.end, origin: last.origin)) }
        } else if piece.end > last.end {
            pieces.append(Piece(start: last.end, end: piece.end, origin: piece.origin))
        }
    }
}
