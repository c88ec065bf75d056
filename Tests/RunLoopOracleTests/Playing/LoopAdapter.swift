import RunLoops

/// What a scenario can do to a loop, whichever it is; items go by their index in the scenario.
///
/// Made on the thread whose loop it stands for. The callouts go to its `CalloutSink`.
protocol LoopAdapter: AnyObject {
    func add(_ item: Int, to mode: ScenarioMode)
    func remove(_ item: Int, from mode: ScenarioMode)
    func invalidate(_ item: Int)
    func signal(_ item: Int)
    func write(_ item: Int)
    func setDate(_ item: Int, _ date: FireDate)
    func perform(_ item: Int, in modes: [ScenarioMode])
    func addCommonMode(_ mode: ScenarioMode)
    func wakeUp()
    func stop()
    func run(_ mode: ScenarioMode, for limit: RunLimit, returnsAfterSource: Bool) -> HostRunLoop.RunResult

    /// Adds an observer that is no item of the scenario.
    func addHook(
        to mode: ScenarioMode,
        _ activities: HostRunLoop.Activity,
        order: Int,
        _ body: @escaping @Sendable (HostRunLoop.Activity) -> Void
    )

    var isWaiting: Bool { get }
    var currentMode: ScenarioMode? { get }
    var allModes: Set<ScenarioMode> { get }
    func isEmpty(_ mode: ScenarioMode) -> Bool
    func nextTimer(in mode: ScenarioMode) -> NextTimer
    func contains(_ item: Int, in mode: ScenarioMode) -> Bool
    func isValid(_ item: Int) -> Bool
    func isSignalled(_ item: Int) -> Bool
}

/// Where the callouts of a loop arrive.
protocol CalloutSink: AnyObject, Sendable {
    func called(_ item: Int, _ activity: HostRunLoop.Activity?)
    func scheduled(_ item: Int, in mode: ScenarioMode)
    func cancelled(_ item: Int, in mode: ScenarioMode)
}
