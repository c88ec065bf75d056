import RunLoops
import SystemPackage

/// Plays scenarios on HostRunLoop.
final class HostAdapter: LoopAdapter {
    private enum Made {
        case source(HostRunLoop.Source)
        case port(HostRunLoop.PortSource, EventPort)
        case timer(HostRunLoop.Timer)
        case observer(HostRunLoop.Observer)
        case block(@Sendable () -> Void)
    }

    private let loop = HostRunLoop.current
    private let items: [Made]

    init(_ scenario: Scenario, _ sink: any CalloutSink) {
        items = scenario.items.enumerated().map { Self.make($1, $0, sink) }
        loop.strictCF = true
    }

    private static func make(_ item: ScenarioItem, _ index: Int, _ sink: any CalloutSink) -> Made {
        switch item.kind {
        case .source(let order):
            return .source(
                HostRunLoop.Source(
                    label: item.name,
                    order: order,
                    schedule: { [unowned sink] _, mode in sink.scheduled(index, in: ScenarioMode(mode)) },
                    cancel: { [unowned sink] _, mode in sink.cancelled(index, in: ScenarioMode(mode)) },
                    perform: { [unowned sink] _ in sink.called(index, nil) }
                )
            )
        case .port(let isReady):
            let port = EventPort(isReady: isReady)
            let source = HostRunLoop.PortSource(label: item.name, descriptor: FileDescriptor(rawValue: port.descriptor))
            { [unowned sink] _, _ in
                port.clear()
                sink.called(index, nil)
            }
            return .port(source, port)
        case .timer(let date, let interval):
            let interval = Duration.milliseconds(interval ?? 0)
            return .timer(
                HostRunLoop.Timer(label: item.name, fireAt: date.instant, interval: interval) { [unowned sink] _ in
                    sink.called(index, nil)
                }
            )
        case .observer(let activities, let order, let repeats):
            return .observer(
                HostRunLoop.Observer(label: item.name, activities: activities, repeats: repeats, order: order) {
                    [unowned sink] _, activity in sink.called(index, activity)
                }
            )
        case .block:
            return .block { [unowned sink] in sink.called(index, nil) }
        }
    }

    func add(_ item: Int, to mode: ScenarioMode) {
        switch items[item] {
        case .source(let source): loop.add(source, to: mode.host)
        case .port(let port, _):
            do {
                try loop.add(port, to: mode.host)
            } catch {
                fatalError("an eventfd was refused: \(error)")
            }
        case .timer(let timer): loop.add(timer, to: mode.host)
        case .observer(let observer): loop.add(observer, to: mode.host)
        case .block: break
        }
    }

    func remove(_ item: Int, from mode: ScenarioMode) {
        switch items[item] {
        case .source(let source): loop.remove(source, from: mode.host)
        case .port(let port, _): loop.remove(port, from: mode.host)
        case .timer(let timer): loop.remove(timer, from: mode.host)
        case .observer(let observer): loop.remove(observer, from: mode.host)
        case .block: break
        }
    }

    func invalidate(_ item: Int) {
        switch items[item] {
        case .source(let source): source.invalidate()
        case .port(let port, _): port.invalidate()
        case .timer(let timer): timer.invalidate()
        case .observer(let observer): observer.invalidate()
        case .block: break
        }
    }

    func signal(_ item: Int) {
        if case .source(let source) = items[item] { source.signal() }
    }

    func write(_ item: Int) {
        if case .port(_, let port) = items[item] { port.write() }
    }

    func setDate(_ item: Int, _ date: FireDate) {
        if case .timer(let timer) = items[item] { timer.nextFireDate = date.instant }
    }

    func perform(_ item: Int, in modes: [ScenarioMode]) {
        guard case .block(let body) = items[item] else { return }
        if modes.count == 1 {
            loop.performWithoutWaking(in: modes[0].host, body)
        } else {
            loop.performWithoutWaking(inAnyOf: Set(modes.map(\.host)), body)
        }
    }

    func addCommonMode(_ mode: ScenarioMode) { loop.addCommonMode(mode.host) }

    func wakeUp() { loop.wakeUp() }

    func stop() { loop.stop() }

    func run(_ mode: ScenarioMode, for limit: RunLimit, returnsAfterSource: Bool) -> HostRunLoop.RunResult {
        loop.run(in: mode.host, for: limit.duration, returnAfterSourceHandled: returnsAfterSource)
    }

    func addHook(
        to mode: ScenarioMode,
        _ activities: HostRunLoop.Activity,
        order: Int,
        _ body: @escaping @Sendable (HostRunLoop.Activity) -> Void
    ) {
        let hook = HostRunLoop.Observer(label: "hook", activities: activities, order: order) { body($1) }
        loop.add(hook, to: mode.host)
    }

    var isWaiting: Bool { loop.isWaiting }

    var currentMode: ScenarioMode? { loop.currentMode.map(ScenarioMode.init) }

    var allModes: Set<ScenarioMode> { Set(loop.allModes.map(ScenarioMode.init)) }

    func isEmpty(_ mode: ScenarioMode) -> Bool { loop.isEmpty(mode.host) }

    func nextTimer(in mode: ScenarioMode) -> NextTimer {
        guard let date = loop.nextTimerFireDate(in: mode.host) else { return .none }
        return HostRunLoop.Instant.now.duration(to: date) < .seconds(1000) ? .soon : .far
    }

    func contains(_ item: Int, in mode: ScenarioMode) -> Bool {
        switch items[item] {
        case .source(let source): loop.contains(source, in: mode.host)
        case .port(let port, _): loop.contains(port, in: mode.host)
        case .timer(let timer): loop.contains(timer, in: mode.host)
        case .observer(let observer): loop.contains(observer, in: mode.host)
        case .block: false
        }
    }

    func isValid(_ item: Int) -> Bool {
        switch items[item] {
        case .source(let source): source.isValid
        case .port(let port, _): port.isValid
        case .timer(let timer): timer.isValid
        case .observer(let observer): observer.isValid
        case .block: true
        }
    }

    func isSignalled(_ item: Int) -> Bool {
        if case .source(let source) = items[item] { source.isSignalled } else { false }
    }
}

extension ScenarioMode {
    init(_ mode: HostRunLoop.Mode) {
        guard let known = ScenarioMode(rawValue: mode.rawValue) else {
            fatalError("a mode that no scenario has: \(mode)")
        }
        self = known
    }

    var host: HostRunLoop.Mode { HostRunLoop.Mode(rawValue: rawValue) }
}

extension FireDate {
    fileprivate var instant: HostRunLoop.Instant {
        switch self {
        case .due: HostRunLoop.Instant.now.advanced(by: .seconds(-1))
        case .never: HostRunLoop.Instant.now.advanced(by: .seconds(1_000_000))
        case .after(let milliseconds): HostRunLoop.Instant.now.advanced(by: .milliseconds(milliseconds))
        }
    }
}

extension RunLimit {
    fileprivate var duration: Duration {
        switch self {
        case .zero: .zero
        case .negative: .seconds(-10)
        case .milliseconds(let milliseconds): .milliseconds(milliseconds)
        // Never reached unless the loop sleeps through something; then the traces differ.
        case .guarded: .seconds(5)
        case .forever: .seconds(10_000_000_000)
        }
    }
}
