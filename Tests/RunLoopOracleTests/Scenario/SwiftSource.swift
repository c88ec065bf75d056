import RunLoops

/// Values that print as the Swift source that makes them: a failing scenario can be pasted into a test.
protocol SwiftSource {
    var swiftSource: String { get }
}

extension Scenario: SwiftSource {
    var swiftSource: String {
        let items = items.map { "        \($0.swiftSource),\n" }.joined()
        let steps = steps.map { "        \($0.swiftSource),\n" }.joined()
        let watch = isWatched ? ",\n    isWatched: true" : ""
        return "Scenario(\n    [\n\(items)    ],\n    steps: [\n\(steps)    ]\(watch)\n)"
    }
}

extension ScenarioItem: SwiftSource {
    var swiftSource: String {
        var arguments = ["\"\(name)\""]
        let function: String
        switch kind {
        case .source(let order):
            function = "source"
            arguments.append("order: \(order)")
        case .port(let isReady):
            function = "port"
            arguments.append("isReady: \(isReady)")
        case .timer(let date, let interval):
            function = "timer"
            arguments.append(date.swiftSource)
            if let interval { arguments.append("everyMilliseconds: \(interval)") }
        case .observer(let activities, let order, let repeats):
            function = "observer"
            arguments.append(activities.swiftSource)
            arguments.append("order: \(order)")
            arguments.append("repeats: \(repeats)")
        case .block:
            function = "block"
        }
        arguments += script.map(\.swiftSource)
        return ".\(function)(\(arguments.joined(separator: ", ")))"
    }
}

extension Action: SwiftSource {
    var swiftSource: String {
        switch self {
        case .add(let name, let mode): ".add(\"\(name)\", to: .\(mode))"
        case .remove(let name, let mode): ".remove(\"\(name)\", from: .\(mode))"
        case .invalidate(let name): ".invalidate(\"\(name)\")"
        case .signal(let name): ".signal(\"\(name)\")"
        case .write(let name): ".write(\"\(name)\")"
        case .setDate(let name, let date): ".setDate(\"\(name)\", \(date.swiftSource))"
        case .perform(let name, let modes):
            ".perform(\"\(name)\", in: [\(modes.map { ".\($0)" }.joined(separator: ", "))])"
        case .addCommonMode(let mode): ".addCommonMode(.\(mode))"
        case .wakeUp: ".wakeUp"
        case .stop: ".stop"
        case .run(let mode, let limit, let returns):
            ".run(.\(mode), for: \(limit.swiftSource), returnsAfterSource: \(returns))"
        case .look: ".look"
        case .whileAsleep(let actions): ".whileAsleep(\(actions.swiftSource))"
        case .stall(let milliseconds): ".stall(milliseconds: \(milliseconds))"
        }
    }
}

extension [Action] {
    var swiftSource: String { "[\(map(\.swiftSource).joined(separator: ", "))]" }
}

extension FireDate: SwiftSource {
    var swiftSource: String {
        switch self {
        case .due: ".due"
        case .never: ".never"
        case .after(let milliseconds): ".after(milliseconds: \(milliseconds))"
        }
    }
}

extension RunLimit: SwiftSource {
    var swiftSource: String {
        switch self {
        case .zero: ".zero"
        case .negative: ".negative"
        case .milliseconds(let milliseconds): ".milliseconds(\(milliseconds))"
        case .guarded: ".guarded"
        case .forever: ".forever"
        }
    }
}

extension HostRunLoop.Activity: SwiftSource {
    private static let names: [(HostRunLoop.Activity, String)] = [
        (.entry, ".entry"), (.beforeTimers, ".beforeTimers"), (.beforeSources, ".beforeSources"),
        (.beforeWaiting, ".beforeWaiting"), (.afterWaiting, ".afterWaiting"), (.exit, ".exit"),
    ]

    var swiftSource: String {
        if self == .all { return ".all" }
        let members = Self.names.filter { contains($0.0) }.map(\.1)
        return members.count == 1 ? members[0] : "[\(members.joined(separator: ", "))]"
    }
}
