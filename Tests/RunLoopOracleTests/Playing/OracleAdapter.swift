import CoreFoundation
import Foundation
import RunLoops

/// Plays scenarios on the CFRunLoop of the toolchain.
final class OracleAdapter: LoopAdapter {
    private enum Made {
        case source(CFRunLoopSource)
        case port(CFRunLoopSource, EventPort)
        case timer(CFRunLoopTimer)
        case observer(CFRunLoopObserver)
        case block(() -> Void)
    }

    private let loop: CFRunLoop
    private let items: [Made]
    /// What the contexts of the sources point to.
    private let contexts: [OracleSourceContext]

    init(_ scenario: Scenario, _ sink: any CalloutSink) {
        guard let loop = CFRunLoopGetCurrent() else { fatalError("no CFRunLoop for a thread") }
        self.loop = loop
        var contexts: [OracleSourceContext] = []
        items = scenario.items.enumerated().map { Self.make($1, $0, sink, &contexts) }
        self.contexts = contexts
    }

    private static func make(
        _ item: ScenarioItem,
        _ index: Int,
        _ sink: any CalloutSink,
        _ contexts: inout [OracleSourceContext]
    ) -> Made {
        switch item.kind {
        case .source(let order):
            let context = OracleSourceContext(index, sink, port: nil)
            contexts.append(context)
            return .source(context.makeSource(order: order))
        case .port(let isReady):
            let port = EventPort(isReady: isReady)
            let context = OracleSourceContext(index, sink, port: port)
            contexts.append(context)
            return .port(context.makePortSource(), port)
        case .timer(let date, let interval):
            let interval = Double(interval ?? 0) / 1000
            return made(
                CFRunLoopTimerCreateWithHandler(nil, date.absoluteTime, interval, 0, 0) { [unowned sink] _ in
                    sink.called(index, nil)
                },
                Made.timer
            )
        case .observer(let activities, let order, let repeats):
            return made(
                CFRunLoopObserverCreateWithHandler(nil, CFOptionFlags(activities.rawValue), repeats, order) {
                    [unowned sink] _, activity in
                    sink.called(index, HostRunLoop.Activity(rawValue: UInt32(activity.rawValue)))
                },
                Made.observer
            )
        case .block:
            return .block { [unowned sink] in sink.called(index, nil) }
        }
    }

    private static func made<Object>(_ object: Object?, _ wrap: (Object) -> Made) -> Made {
        guard let object else { fatalError("CoreFoundation makes no item") }
        return wrap(object)
    }

    func add(_ item: Int, to mode: ScenarioMode) {
        switch items[item] {
        case .source(let source), .port(let source, _): CFRunLoopAddSource(loop, source, mode.oracle)
        case .timer(let timer): CFRunLoopAddTimer(loop, timer, mode.oracle)
        case .observer(let observer): CFRunLoopAddObserver(loop, observer, mode.oracle)
        case .block: break
        }
    }

    func remove(_ item: Int, from mode: ScenarioMode) {
        switch items[item] {
        case .source(let source), .port(let source, _): CFRunLoopRemoveSource(loop, source, mode.oracle)
        case .timer(let timer): CFRunLoopRemoveTimer(loop, timer, mode.oracle)
        case .observer(let observer): CFRunLoopRemoveObserver(loop, observer, mode.oracle)
        case .block: break
        }
    }

    func invalidate(_ item: Int) {
        switch items[item] {
        case .source(let source), .port(let source, _): CFRunLoopSourceInvalidate(source)
        case .timer(let timer): CFRunLoopTimerInvalidate(timer)
        case .observer(let observer): CFRunLoopObserverInvalidate(observer)
        case .block: break
        }
    }

    func signal(_ item: Int) {
        if case .source(let source) = items[item] { CFRunLoopSourceSignal(source) }
    }

    func write(_ item: Int) {
        if case .port(_, let port) = items[item] { port.write() }
    }

    func setDate(_ item: Int, _ date: FireDate) {
        if case .timer(let timer) = items[item] { CFRunLoopTimerSetNextFireDate(timer, date.absoluteTime) }
    }

    func perform(_ item: Int, in modes: [ScenarioMode]) {
        guard case .block(let body) = items[item] else { return }
        if modes.count == 1 {
            CFRunLoopPerformBlock(loop, modes[0].oracle, body)
        } else {
            let names = withUnsafePointer(to: kCFTypeArrayCallBacks) { CFArrayCreateMutable(nil, modes.count, $0) }
            for mode in modes {
                CFArrayAppendValue(names, Unmanaged.passUnretained(mode.oracle).toOpaque())
            }
            CFRunLoopPerformBlock(loop, names, body)
        }
    }

    func addCommonMode(_ mode: ScenarioMode) { CFRunLoopAddCommonMode(loop, mode.oracle) }

    func wakeUp() { CFRunLoopWakeUp(loop) }

    func stop() { CFRunLoopStop(loop) }

    func run(_ mode: ScenarioMode, for limit: RunLimit, returnsAfterSource: Bool) -> HostRunLoop.RunResult {
        switch CFRunLoopRunInMode(mode.oracle, limit.seconds, returnsAfterSource) {
        case .finished: return .finished
        case .stopped: return .stopped
        case .timedOut: return .timedOut
        case .handledSource: return .handledSource
        @unknown default: fatalError("a result that CFRunLoop does not have")
        }
    }

    func addHook(
        to mode: ScenarioMode,
        _ activities: HostRunLoop.Activity,
        order: Int,
        _ body: @escaping @Sendable (HostRunLoop.Activity) -> Void
    ) {
        let hook = CFRunLoopObserverCreateWithHandler(nil, CFOptionFlags(activities.rawValue), true, order) {
            body(HostRunLoop.Activity(rawValue: UInt32($1.rawValue)))
        }
        CFRunLoopAddObserver(loop, hook, mode.oracle)
    }

    var isWaiting: Bool { CFRunLoopIsWaiting(loop) }

    var currentMode: ScenarioMode? {
        CFRunLoopCopyCurrentMode(loop).map { ScenarioMode(oracle: $0) }
    }

    var allModes: Set<ScenarioMode> {
        guard let names = CFRunLoopCopyAllModes(loop) else { return [] }
        var modes: Set<ScenarioMode> = []
        for index in 0..<CFArrayGetCount(names) {
            guard let pointer = CFArrayGetValueAtIndex(names, index) else { continue }
            modes.insert(ScenarioMode(oracle: Unmanaged<CFString>.fromOpaque(pointer).takeUnretainedValue()))
        }
        // KnownDivergence.literalCommonMode
        modes.remove(.common)
        return modes
    }

    func isEmpty(_ mode: ScenarioMode) -> Bool { oracleIsFinished(loop, mode.oracle) }

    func nextTimer(in mode: ScenarioMode) -> NextTimer {
        let date = CFRunLoopGetNextTimerFireDate(loop, mode.oracle)
        if date == 0 { return .none }
        return date - CFAbsoluteTimeGetCurrent() < 1000 ? .soon : .far
    }

    func contains(_ item: Int, in mode: ScenarioMode) -> Bool {
        switch items[item] {
        case .source(let source), .port(let source, _): CFRunLoopContainsSource(loop, source, mode.oracle)
        case .timer(let timer): CFRunLoopContainsTimer(loop, timer, mode.oracle)
        case .observer(let observer): CFRunLoopContainsObserver(loop, observer, mode.oracle)
        case .block: false
        }
    }

    func isValid(_ item: Int) -> Bool {
        switch items[item] {
        case .source(let source), .port(let source, _): CFRunLoopSourceIsValid(source)
        case .timer(let timer): CFRunLoopTimerIsValid(timer)
        case .observer(let observer): CFRunLoopObserverIsValid(observer)
        case .block: true
        }
    }

    func isSignalled(_ item: Int) -> Bool {
        if case .source(let source) = items[item] { oracleIsSignalled(source) } else { false }
    }
}

// Exported by the library, declared in no header.

@_silgen_name("_CFRunLoopFinished")
private func oracleIsFinished(_ loop: CFRunLoop, _ mode: CFString) -> Bool

@_silgen_name("CFRunLoopSourceIsSignalled")
private func oracleIsSignalled(_ source: CFRunLoopSource) -> Bool

extension FireDate {
    fileprivate var absoluteTime: CFAbsoluteTime {
        switch self {
        case .due: CFAbsoluteTimeGetCurrent() - 1
        case .never: CFAbsoluteTimeGetCurrent() + 1_000_000
        case .after(let milliseconds): CFAbsoluteTimeGetCurrent() + Double(milliseconds) / 1000
        }
    }
}

extension RunLimit {
    fileprivate var seconds: CFTimeInterval {
        switch self {
        case .zero: 0
        case .negative: -10
        case .milliseconds(let milliseconds): Double(milliseconds) / 1000
        case .guarded: 5
        case .forever: 1e10
        }
    }
}
