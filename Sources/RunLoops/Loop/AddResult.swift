extension HostRunLoop {
    /// What came of adding an item to a mode.
    public enum AddResult: Sendable, Hashable {
        /// It is in the mode now, or among the common items and in all common modes.
        case added
        /// It was there before, and nothing changed.
        case alreadyThere
        /// It was invalidated before, which is for ever, and nothing changed.
        case invalidItem
        /// It is a timer or an observer in another loop, and nothing changed.
        ///
        /// Such an item belongs to one loop at a time: remove it from every mode of the other one first.
        case inAnotherLoop
        /// It is withdrawn, or has a label that is withheld: the mode was recorded, and it is not served.
        ///
        /// See `withdraw(item:)` and `withhold(itemsLabelled:)`.
        case withheld
        /// The loop's thread has ended, and nothing changed.
        case loopEnded
    }

    /// Adds an item that no kernel can refuse.
    func addUnrefused(_ item: some LoopItem, to mode: Mode) -> (result: AddResult, entered: [LoopMode]) {
        do throws(RunLoopError) {
            return try insert(item, into: mode)
        } catch {
            preconditionFailure("an item without a descriptor was refused: \(error)")
        }
    }
}
