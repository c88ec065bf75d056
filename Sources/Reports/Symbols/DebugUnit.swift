internal import CElfutils

/// One compilation unit of the debug information, with an index of its functions that is made on first use.
final class DebugUnit {
    /// Deeper nesting and more entries than this are taken for damage.
    static let deepestNesting = 128
    static let mostEntries = 1 << 22
    /// How far to look for a line where there is none.
    private static let mostRowsBefore = 64

    private(set) var root: DebugEntry
    private lazy var functions = AddressTable(collectFunctions())
    private lazy var files = root.sourceFiles()
    private lazy var lines = root.lineTable()
    private lazy var directory = root.text(DW_AT_comp_dir)

    /// Whether it was compiled from Swift.
    private(set) lazy var isSwift = root.number(DW_AT_language) == Int(DW_LANG_Swift)
    /// The last answer about code that somebody vouches for: it is asked for each function, of one program.
    private var trust: (code: TrustedCode, answer: Bool)?

    /// Wraps a unit.
    ///
    /// - Parameter root: The unit's outermost entry.
    init(root: DebugEntry) {
        self.root = root
    }

    /// The place in the source that an address belongs to.
    ///
    /// Line 0 is the compiler's way to say that an instruction belongs to no line in particular (DWARF 5, 6.2.2). A nearby line
    /// of the same function is better than none.
    ///
    /// - Parameters:
    ///   - address: The address, as linked.
    ///   - scopes: The functions active there.
    /// - Returns: The place; unknown where there is none.
    func location(of address: UInt64, in scopes: [DebugEntry]) -> SourceLocation {
        guard let row = lines.row(at: address) else { return .unknown }
        let location = lines.location(row: row)
        guard location.line == nil, var innermost = scopes.last else { return absolute(location) }
        for row in (max(0, row - Self.mostRowsBefore)..<row).reversed() {
            let address = lines.address(row: row)
            guard !lines.endsSequence(row: row), innermost.contains(address) else { break }
            let location = lines.location(row: row)
            guard location.line != nil, var other = self.scopes(at: address).last, other.offset == innermost.offset
            else { continue }
            return absolute(SourceLocation(file: location.file, line: location.line ?? 0, column: 0))
        }
        return .unknown
    }

    /// Whether somebody vouches for the module that it was compiled from.
    func isTrusted(by code: TrustedCode) -> Bool {
        if let trust, trust.code == code { return trust.answer }
        let answer = root.text(DW_AT_name).map { code.hasModule(ofFile: $0, compiledIn: directory) } ?? false
        trust = (code, answer)
        return answer
    }

    /// Whether somebody vouches for the module of a function.
    ///
    /// What Swift imports from headers is in one unit that has no file (`<swift-imported-modules>`); there the function's own tells.
    func isTrusted(by code: TrustedCode, at address: UInt64) -> Bool {
        if isTrusted(by: code) { return true }
        guard !code.modules.isEmpty, root.text(DW_AT_name)?.hasPrefix("<") == true,
            var function = functions.entries(containing: address).first?.value
        else { return false }
        return function.declarationFile().map { code.hasModule(ofFile: $0, compiledIn: directory) } ?? false
    }

    /// The functions active at an address, the physical one first and the innermost inlined one last.
    ///
    /// - Parameter address: The address, as linked.
    /// - Returns: Nothing when no function of this unit contains the address.
    func scopes(at address: UInt64) -> [DebugEntry] {
        guard let function = functions.entries(containing: address).first?.value else { return [] }
        var scopes = [function]
        var budget = Self.mostEntries
        appendInlined(in: function, at: address, depth: 0, budget: &budget, to: &scopes)
        return scopes
    }

    /// Where the function of an inlined scope was called.
    func callSite(of scope: DebugEntry) -> SourceLocation {
        var scope = scope
        return absolute(scope.callSite(files: files))
    }

    /// Completes a path that the compiler recorded relative to where it ran.
    private func absolute(_ location: SourceLocation) -> SourceLocation {
        guard let file = location.file, !file.hasPrefix("/"), let directory else { return location }
        var location = location
        location.file = directory + "/" + file
        return location
    }

    private func collectFunctions() -> [AddressTable<DebugEntry>.Entry] {
        var found: [AddressTable<DebugEntry>.Entry] = []
        var budget = Self.mostEntries
        collectFunctions(in: root, depth: 0, budget: &budget, to: &found)
        return found
    }

    private func collectFunctions(
        in parent: DebugEntry,
        depth: Int,
        budget: inout Int,
        to found: inout [AddressTable<DebugEntry>.Entry]
    ) {
        forEachChild(of: parent, budget: &budget) { child, budget in
            let tag = Int(child.tag)
            if tag == DW_TAG_subprogram {
                // One function has a handful of ranges: its hot and its cold part.
                for range in child.ranges(limit: 64) {
                    found.append(.init(start: range.lowerBound, end: range.upperBound, value: child))
                }
            }
            switch tag {
            // Functions hold functions: closures and local ones, which may lie in any block.
            case DW_TAG_subprogram, DW_TAG_namespace, DW_TAG_module, DW_TAG_class_type, DW_TAG_structure_type,
                DW_TAG_enumeration_type,
                DW_TAG_union_type, DW_TAG_lexical_block:
                guard depth < Self.deepestNesting else { break }
                collectFunctions(in: child, depth: depth + 1, budget: &budget, to: &found)
            default:
                break
            }
            return true
        }
    }

    private func appendInlined(
        in parent: DebugEntry,
        at address: UInt64,
        depth: Int,
        budget: inout Int,
        to scopes: inout [DebugEntry]
    ) {
        guard depth < Self.deepestNesting else { return }
        forEachChild(of: parent, budget: &budget) { child, budget in
            let tag = Int(child.tag)
            let isInlined = tag == DW_TAG_inlined_subroutine
            guard isInlined || tag == DW_TAG_lexical_block, child.contains(address) else { return true }
            let known = scopes.count
            if isInlined {
                scopes.append(child)
            }
            appendInlined(in: child, at: address, depth: depth + 1, budget: &budget, to: &scopes)
            // Blocks of the same function can overlap: one without a call may hide one with a call.
            return scopes.count == known
        }
    }

    /// Calls a function with each child until it returns false.
    func forEachChild(
        of parent: DebugEntry,
        budget: inout Int,
        _ body: (inout DebugEntry, inout Int) -> Bool
    ) {
        var parent = parent
        var next = parent.firstChild()
        while var child = next, budget > 0 {
            budget -= 1
            guard body(&child, &budget) else { return }
            next = child.nextSibling()
        }
    }
}
