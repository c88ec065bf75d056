/// The modes of a loop, the set of common modes, and the items that were added to the common modes.
///
/// Protected by the loop's lock. Removed items are returned, so that they are released after unlocking.
struct ModeTable {
    typealias Mode = HostRunLoop.Mode

    private let descriptors: SleepDescriptors
    private var modes: [Mode: LoopMode] = [:]
    /// The mode that was looked up last.
    private var last: Uncounted<LoopMode>?
    /// The common modes beside the default one, which always is.
    private var others: Set<Mode> = []
    /// The common modes in the order of their declaration, in which items are told of them.
    private(set) var commonNames: [Mode] = [.default]
    /// By item identifier, which gives the order in which the items were made.
    private var commonItems: [UInt64: any LoopItem] = [:]
    /// Whether the thread has ended, so that nothing can be added to the loop any more.
    private(set) var isClosed = false

    /// Makes a table with the default mode.
    init(_ descriptors: SleepDescriptors) {
        self.descriptors = descriptors
        _ = make(.default)
        last = nil
    }

    // MARK: Modes

    /// All modes.
    var all: Dictionary<Mode, LoopMode>.Values { modes.values }

    /// The names of all modes.
    var names: Set<Mode> { Set(modes.keys) }

    /// All modes by name, for the check of the invariants.
    var entries: [Mode: LoopMode] { modes }

    /// Returns the mode with this name, if it exists.
    subscript(name: Mode) -> LoopMode? { modes[name] }

    /// Returns the mode that was looked up last if it has this name: a comparison is cheaper than a hash.
    ///
    /// A mode lives as long as its loop.
    @inline(__always)
    func known(_ name: Mode) -> Uncounted<LoopMode>? {
        guard let mode = last, mode.with({ $0.name == name }) else { return nil }
        return mode
    }

    /// Returns the mode with this name, if it exists, and remembers it as the last one looked up.
    mutating func find(_ name: Mode) -> LoopMode? {
        if let mode = known(name) { return mode.object }
        guard let mode = modes[name] else { return nil }
        last = Uncounted(mode)
        return mode
    }

    /// Makes a mode that the loop can sleep in.
    mutating func make(_ name: Mode) -> LoopMode {
        let mode = LoopMode(name: name, number: modes.count, descriptors)
        modes[name] = mode
        return mode
    }

    // MARK: Common modes

    /// The common modes.
    var commonModes: Set<Mode> { others.union([.default]) }

    /// Returns whether a mode is common.
    @inline(__always)
    func isCommon(_ name: Mode) -> Bool { name == .default || others.contains(name) }

    /// Declares a mode common; returns whether it was not common before.
    mutating func declareCommon(_ name: Mode) -> Bool {
        guard name != .default, others.insert(name).inserted else { return false }
        commonNames.append(name)
        return true
    }

    // MARK: Common items

    /// How many items were added to the common modes.
    var commonItemCount: Int { commonItems.count }

    /// The common items by identifier, in the order in which they were made.
    var commonItemsInOrder: [(key: UInt64, value: any LoopItem)] { commonItems.sorted { $0.key < $1.key } }

    /// Whether any common item is valid.
    var hasValidCommonItems: Bool { commonItems.values.contains { $0.isValid } }

    /// Returns a common item.
    func commonItem(_ identifier: UInt64) -> (any LoopItem)? { commonItems[identifier] }

    /// Makes an item a common item; returns whether it was not one before.
    mutating func insertCommon(_ item: some LoopItem) -> Bool {
        commonItems.updateValue(item, forKey: item.identifier) == nil
    }

    /// Removes an item from the common items; returns whether it was one.
    ///
    /// The caller keeps it alive.
    mutating func removeCommon(_ identifier: UInt64) -> Bool {
        commonItems.removeValue(forKey: identifier) != nil
    }

    // MARK: The end

    /// Closes the table, so that nothing can be added; removes and returns the common items.
    mutating func close() -> [any LoopItem] {
        isClosed = true
        let items = commonItemsInOrder.map(\.value)
        commonItems = [:]
        return items
    }
}
