import CoreFoundation
import Foundation

/// What a CFRunLoop source of a scenario points to, one for each: sources with the same are the same to CFRunLoop (item 7).
final class OracleSourceContext {
    private let index: Int
    private unowned let sink: any CalloutSink
    private let port: EventPort?

    init(_ index: Int, _ sink: any CalloutSink, port: EventPort?) {
        self.index = index
        self.sink = sink
        self.port = port
    }

    /// Makes a source of version 0, which does not keep this object alive.
    func makeSource(order: Int) -> CFRunLoopSource {
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.schedule = { info, _, mode in
            let context = OracleSourceContext.at(info)
            if let mode { context.sink.scheduled(context.index, in: ScenarioMode(oracle: mode)) }
        }
        context.cancel = { info, _, mode in
            let context = OracleSourceContext.at(info)
            if let mode { context.sink.cancelled(context.index, in: ScenarioMode(oracle: mode)) }
        }
        context.perform = { info in
            let context = OracleSourceContext.at(info)
            context.sink.called(context.index, nil)
        }
        guard let source = CFRunLoopSourceCreate(nil, order, &context) else { fatalError("no source from CFRunLoop") }
        return source
    }

    /// Makes a source of version 1, which does not keep this object alive.
    func makePortSource() -> CFRunLoopSource {
        var context = CFRunLoopSourceContext1()
        context.version = 1
        context.info = Unmanaged.passUnretained(self).toOpaque()
        context.getPort = { info in OracleSourceContext.at(info).port?.descriptor ?? -1 }
        context.perform = { info in
            let context = OracleSourceContext.at(info)
            context.sink.called(context.index, nil)
        }
        let source = withUnsafeMutablePointer(to: &context) { pointer in
            // Both versions begin alike; the number at the beginning says which one it is.
            pointer.withMemoryRebound(to: CFRunLoopSourceContext.self, capacity: 1) {
                CFRunLoopSourceCreate(nil, 0, $0)
            }
        }
        guard let source else { fatalError("no port source from CFRunLoop") }
        return source
    }

    private static func at(_ info: UnsafeMutableRawPointer?) -> OracleSourceContext {
        guard let info else { fatalError("a source without its context") }
        return Unmanaged<OracleSourceContext>.fromOpaque(info).takeUnretainedValue()
    }
}

extension ScenarioMode {
    private nonisolated(unsafe) static let oracleA = name("a")
    private nonisolated(unsafe) static let oracleB = name("b")

    private static func name(_ text: String) -> CFString {
        guard let name = CFStringCreateWithCString(nil, text, CFStringBuiltInEncodings.UTF8.rawValue) else {
            fatalError("no string from CoreFoundation")
        }
        return name
    }

    /// The name that CFRunLoop knows the mode by; that of the pseudo mode is compared by identity (item 9).
    var oracle: CFString {
        switch self {
        case .default: kCFRunLoopDefaultMode
        case .a: Self.oracleA
        case .b: Self.oracleB
        case .common: kCFRunLoopCommonModes
        }
    }

    init(oracle name: CFString) {
        guard let mode = Self.allCases.first(where: { CFEqual($0.oracle, name) }) else {
            fatalError("a mode that no scenario has: \(name)")
        }
        self = mode
    }
}
