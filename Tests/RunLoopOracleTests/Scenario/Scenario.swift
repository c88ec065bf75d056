import RunLoops

/// What a run loop is put through: a value that can be played on any loop, shrunk, and printed as Swift source.
struct Scenario: Hashable, Sendable {
    /// Everything that exists, made in this order before the first step and in no mode at first.
    var items: [ScenarioItem]
    /// What is done outside all runs, in this order.
    var steps: [Action]
    /// Whether a `ReadinessLedger` watches the play: needed wherever the order of simultaneous events is not arranged by
    /// hand.
    var isWatched = false

    init(_ items: [ScenarioItem], steps: [Action], isWatched: Bool = false) {
        self.items = items
        self.steps = steps
        self.isWatched = isWatched
    }
}

/// The modes that scenarios know.
enum ScenarioMode: String, CaseIterable, Hashable, Sendable, Comparable {
    case `default` = "default"
    case a
    case b
    /// The pseudo mode.
    case common = "common"

    /// The modes that a loop can run in.
    static let concrete: [ScenarioMode] = [.default, .a, .b]

    static func < (left: ScenarioMode, right: ScenarioMode) -> Bool { left.rawValue < right.rawValue }
}

/// When a timer fires.
enum FireDate: Hashable, Sendable {
    /// In the past.
    case due
    /// In the far future.
    case never
    /// So much later than the moment at which the date is set.
    case after(milliseconds: Int)
}

/// The time limit of a run.
enum RunLimit: Hashable, Sendable {
    case zero
    case negative
    case milliseconds(Int)
    /// None, but a watched run is stopped as soon as it is about to sleep with nothing in sight.
    case guarded
    /// None.
    case forever
}

/// One thing that can be in a loop, and what its callouts do.
struct ScenarioItem: Hashable, Sendable {
    /// What it is.
    enum Kind: Hashable, Sendable {
        case source(order: Int)
        /// An eventfd, written before the beginning or not.
        case port(isReady: Bool)
        case timer(FireDate, everyMilliseconds: Int?)
        case observer(HostRunLoop.Activity, order: Int, repeats: Bool)
        case block
    }

    var name: String
    var kind: Kind
    /// What its first, second, … call does; later calls do nothing, so that every scenario ends.
    var script: [[Action]]

    static func source(_ name: String, order: Int = 0, _ script: [Action]...) -> ScenarioItem {
        ScenarioItem(name: name, kind: .source(order: order), script: script)
    }

    static func port(_ name: String, isReady: Bool = true, _ script: [Action]...) -> ScenarioItem {
        ScenarioItem(name: name, kind: .port(isReady: isReady), script: script)
    }

    static func timer(
        _ name: String,
        _ date: FireDate = .due,
        everyMilliseconds interval: Int? = nil,
        _ script: [Action]...
    ) -> ScenarioItem {
        ScenarioItem(name: name, kind: .timer(date, everyMilliseconds: interval), script: script)
    }

    static func observer(
        _ name: String,
        _ activities: HostRunLoop.Activity = .all,
        order: Int = 0,
        repeats: Bool = true,
        _ script: [Action]...
    ) -> ScenarioItem {
        ScenarioItem(name: name, kind: .observer(activities, order: order, repeats: repeats), script: script)
    }

    static func block(_ name: String, _ script: [Action]...) -> ScenarioItem {
        ScenarioItem(name: name, kind: .block, script: script)
    }
}
