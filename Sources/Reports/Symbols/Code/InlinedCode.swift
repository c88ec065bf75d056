internal import CElfutils

/// Finds where functions of other languages were inlined into Swift's, and Swift's into these.
///
/// An inline function of an imported header is compiled with the Swift module that calls it: for its debug information the compiler makes
/// a unit of the header's language (`<swift-imported-modules>`), and inlined calls refer to that.
final class InlinedCode {
    /// More pieces than one function is made of.
    private static let mostRanges = 1 << 16

    private let trusted: TrustedCode
    /// Where the program's code begins: what the linker has discarded claims addresses from 0 on.
    private let lowest: UInt64
    /// What is known of functions, and of units, by the offset of their entries.
    private var functions: [UInt64: FunctionOrigin] = [:]
    private var languages: [UInt64: Int?] = [:]
    private var found: [FunctionOrigins.Piece] = []

    /// Makes a search.
    ///
    /// - Parameters:
    ///   - lowest: Where the program's code begins, as linked.
    ///   - trusted: Code that somebody vouches for.
    init(from lowest: UInt64, trusting trusted: TrustedCode) {
        self.lowest = lowest
        self.trusted = trusted
    }

    /// Looks through the Swift units: what other languages have inlined is theirs anyway.
    ///
    /// - Parameter information: The debug information of the program.
    /// - Returns: Pieces of other origins than `swift`, by start, without overlaps.
    func pieces(in information: DebugInformation) -> [FunctionOrigins.Piece] {
        for unit in information.allUnits where unit.isSwift {
            var root = unit.root
            guard root.mayInlineFromElsewhere() else { continue }
            var budget = DebugUnit.mostEntries
            collect(in: root, of: unit, function: nil, .swift, depth: 0, &budget)
        }
        // What lies within is a part of what it lies in.
        let all = Self.joined(found, as: .inlinedNative)
        let inner = Self.joined(found.filter { $0.origin == .withinNative }, as: .withinNative)
        return FunctionOrigins.overlay(all, with: inner)
    }

    /// Collects what lies in an entry, of code of which `state` is known, in a function that is not inlined.
    private func collect(
        in parent: DebugEntry,
        of unit: DebugUnit,
        function: DebugEntry?,
        _ state: FunctionOrigin,
        depth: Int,
        _ budget: inout Int
    ) {
        guard depth < DebugUnit.deepestNesting else { return }
        unit.forEachChild(of: parent, budget: &budget) { child, budget in
            switch Int(child.tag) {
            case DW_TAG_subprogram:
                collect(in: child, of: unit, function: child, .swift, depth: depth + 1, &budget)
            case DW_TAG_inlined_subroutine:
                let inner = Self.state(state, inside: origin(of: &child))
                if inner != state { add(child, inner, in: function) }
                // Nothing more can come of it.
                guard inner != .withinNative else { break }
                collect(in: child, of: unit, function: function, inner, depth: depth + 1, &budget)
            case DW_TAG_lexical_block, DW_TAG_namespace, DW_TAG_module, DW_TAG_class_type, DW_TAG_structure_type,
                DW_TAG_enumeration_type, DW_TAG_union_type:
                collect(in: child, of: unit, function: function, state, depth: depth + 1, &budget)
            default: break
            }
            return true
        }
    }

    /// What code is that was inlined into code of which this is known.
    private static func state(_ outer: FunctionOrigin, inside origin: FunctionOrigin) -> FunctionOrigin {
        switch (outer, origin) {
        case (.swift, .native): .inlinedNative
        // Code that somebody vouches for is the application's.
        case (.inlinedNative, .swift), (.inlinedNative, .trusted): .withinNative
        default: outer
        }
    }

    private func add(_ entry: DebugEntry, _ origin: FunctionOrigin, in function: DebugEntry?) {
        var entry = entry
        guard var function, function.ranges(limit: Self.mostRanges).contains(where: { $0.lowerBound >= lowest }) else {
            return
        }
        found += entry.ranges(limit: Self.mostRanges).map {
            FunctionOrigins.Piece(start: $0.lowerBound, end: $0.upperBound, origin: origin)
        }
    }

    /// Where the function of an inlined call comes from.
    private func origin(of call: inout DebugEntry) -> FunctionOrigin {
        switch call.origin() {
        // In the unit of the caller, which is Swift's.
        case .here: return .swift
        // Nothing is known: then nothing is cleared.
        case .unreadable: return .native
        case .elsewhere(var function):
            let offset = function.offset
            if let known = functions[offset] { return known }
            let origin = origin(ofFunction: &function)
            functions[offset] = origin
            return origin
        }
    }

    private func origin(ofFunction function: inout DebugEntry) -> FunctionOrigin {
        guard var root = function.unitRoot() else { return .native }
        let place = root.offset
        let language = languages[place] ?? root.number(DW_AT_language)
        languages[place] = language
        if language == Int(DW_LANG_Swift) { return .swift }
        let name = function.functionName() ?? ""
        // `dwz` moves what several units have into one without a language.
        if language == nil, Self.isSwift(name) { return .swift }
        if trusted.hasFunction(name) { return .trusted }
        guard !trusted.modules.isEmpty, let file = function.declarationFile() else { return .native }
        return trusted.hasModule(ofFile: file, compiledIn: root.text(DW_AT_comp_dir)) ? .trusted : .native
    }

    /// Swift's functions, and the checks that the compiler puts in, which have no symbol.
    private static func isSwift(_ name: String) -> Bool {
        SymbolTable.isSwift(name) || name.hasPrefix("Swift runtime failure: ")
    }

    private static func joined(_ pieces: [FunctionOrigins.Piece], as origin: FunctionOrigin) -> [FunctionOrigins.Piece]
    {
        pieces.sorted { $0.start < $1.start }.reduce(into: []) { joined, piece in
            if let last = joined.last, piece.start <= last.end {
                joined[joined.count - 1].end = max(last.end, piece.end)
            } else {
                joined.append(FunctionOrigins.Piece(start: piece.start, end: piece.end, origin: origin))
            }
        }
    }
}
