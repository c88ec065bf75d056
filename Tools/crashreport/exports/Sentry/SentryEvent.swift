internal import CrashReports

/// The event of an envelope, <https://develop.sentry.dev/sdk/foundations/transport/event-payloads/>.
struct SentryEvent {
    /// How much of a report goes into an event.
    struct Detail {
        /// Frames of each thread, half of them from each end.
        var frames: Int
        /// Threads besides the one that faulted.
        var threads: Int
        /// Characters of a text.
        var text: Int
        /// Images; those with frames in them come first.
        var images: Int

        /// From all that Sentry would show down to what surely fits.
        static let steps = [
            // Sentry itself keeps 500 frames of each end.
            Detail(frames: 1000, threads: 256, text: 8192, images: 1024),
            Detail(frames: 100, threads: 64, text: 2048, images: 256),
            Detail(frames: 50, threads: 0, text: 256, images: 64),
        ]
    }

    static let sdk = JSONValue.members([
        "name": "holdfast.swift", "version": .string(HoldfastVersion.current),
    ])

    let report: CrashReport
    let options: SentryEnvelope.Options
    let detail: Detail

    init(_ report: CrashReport, options: SentryEnvelope.Options, detail: Detail) {
        self.report = report
        self.options = options
        self.detail = detail
    }

    var json: JSONValue {
        .members([
            "event_id": .string(report.id.rawValue),
            "timestamp": .string(report.timestamp.description),
            "platform": "native",
            "level": .string(level),
            "logger": "holdfast",
            "server_name": .string(text(report.host.name)),
            "release": .string(release),
            "dist": JSONValue(report.process.buildID.map { String($0.prefix(64)) }),
            "environment": JSONValue(environment),
            // What is one group here is one issue there.
            "fingerprint": .array([.string(report.fingerprint.rawValue)]),
            "exception": .object(["values": .array([exception])]),
            "threads": .object(["values": .array(threads)]),
            "debug_meta": .object(["images": .array(images)]),
            "contexts": contexts,
            "breadcrumbs": breadcrumbs,
            "tags": tags,
            "extra": extra,
            "sdk": Self.sdk,
        ])
    }

    /// A fault that was resumed did not end the session; a stall is none.
    private var level: String {
        if report.kind == .stall { return "warning" }
        return report.verdict.decision == .resume ? "error" : "fatal"
    }

    /// Text that is not longer than it may be.
    func text(_ text: String) -> String { text.limited(to: detail.text) }

    /// Sentry takes no line breaks, slashes and no more than 200 characters here.
    private var release: String {
        let build = report.process.buildID.map { "@\($0.prefix(12))" } ?? ""
        let name = options.release ?? report.tag("release") ?? report.process.name + build
        return Self.label(name, limit: 200)
    }

    private var environment: String? {
        (options.environment ?? report.tag("environment")).map { Self.label($0, limit: 64) }
    }

    private static func label(_ text: String, limit: Int) -> String {
        let safe = text.map { $0.isNewline || $0 == "\t" || $0 == "/" || $0 == "\\" ? "-" : $0 }
        return String(safe.prefix(limit))
    }

    private var tags: JSONValue {
        var tags: [String: JSONValue] = [:]
        for (name, value) in (report.context?.tags ?? [:]).sorted(by: { $0.key < $1.key }) {
            tags[Self.tagName(name)] = .string(Self.tagValue(value))
        }
        // What Holdfast says of the fault is not for the application to say.
        let own = [
            "process": report.process.name, "signal": report.fault?.signal.name,
            "kind": report.fault == nil ? report.kind.rawValue : nil,
            "verdict": report.verdict.decision.rawValue, "callout": report.loop?.callout?.label,
            "mode": report.loop?.mode,
        ]
        for case (let name, let value?) in own where !value.isEmpty {
            tags["holdfast.\(name)"] = .string(Self.tagValue(value))
        }
        return .object(tags)
    }

    /// Keys are of letters, digits and `_.:-`, and of no more than 32 characters.
    private static func tagName(_ name: String) -> String {
        let safe = name.unicodeScalars.map { scalar -> Character in
            let isKnown = scalar.isASCII && (scalar.properties.isAlphabetic || ("0"..."9").contains(scalar))
            return isKnown || "_.:-".unicodeScalars.contains(scalar) ? Character(scalar) : "_"
        }
        return String(safe.prefix(32))
    }

    /// Values have no line breaks and no more than 200 characters.
    private static func tagValue(_ value: String) -> String {
        String(value.map { $0.isNewline ? " " : $0 }.prefix(200))
    }

    private var extra: JSONValue? {
        let context = report.context
        let extra = JSONValue.members([
            "annotations": .strings((context?.annotations ?? [:]).mapValues(text)),
            "environment": .strings((context?.environment ?? [:]).mapValues(text)),
            "arguments": .list(report.process.arguments.map { .string(text($0)) }),
            "notes": .list(report.notes.map { .string(text($0)) }),
        ])
        return extra == .object([:]) ? nil : extra
    }
}
