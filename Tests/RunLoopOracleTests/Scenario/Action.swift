/// One thing done to a loop, from outside a run or inside a callout.
indirect enum Action: Hashable, Sendable {
    case add(String, to: ScenarioMode)
    case remove(String, from: ScenarioMode)
    case invalidate(String)
    /// Signals a source.
    case signal(String)
    /// Writes a port's eventfd.
    case write(String)
    /// Sets a timer's next fire date.
    case setDate(String, FireDate)
    /// Queues a block; more than one mode makes it the form that takes several.
    case perform(String, in: [ScenarioMode])
    case addCommonMode(ScenarioMode)
    case wakeUp
    case stop
    case run(ScenarioMode, for: RunLimit = .zero, returnsAfterSource: Bool = false)
    /// Records the state of the loop and of all items.
    case look
    /// Starts a thread that does these things as soon as the loop sleeps.
    case whileAsleep([Action])
    /// Keeps the thread busy.
    case stall(milliseconds: Int)

    /// The item that it needs.
    var itemName: String? {
        switch self {
        case .add(let name, _), .remove(let name, _), .invalidate(let name), .signal(let name), .write(let name),
            .setDate(let name, _), .perform(let name, _):
            name
        case .addCommonMode, .wakeUp, .stop, .run, .look, .whileAsleep, .stall:
            nil
        }
    }

    /// The items that it and the actions in it need.
    var itemNames: Set<String> {
        if case .whileAsleep(let actions) = self {
            return actions.reduce(into: []) { $0.formUnion($1.itemNames) }
        }
        return itemName.map { [$0] } ?? []
    }
}
