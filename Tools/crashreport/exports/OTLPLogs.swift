package import CrashReports
internal import LinuxSystem

/// Reports as log records of OpenTelemetry: `LogsData` in the JSON form of OTLP.
///
/// <https://opentelemetry.io/docs/specs/otlp/#json-protobuf-encoding>: numbers of 64 bits are strings, identifiers are
/// hexadecimal digits, severities are numbers. The keys are those of the semantic conventions, and `holdfast.` where
/// there is none.
package struct OTLPLogs: Sendable {
    /// The semantic conventions that the keys are taken from.
    static let schema = "https://opentelemetry.io/schemas/1.37.0"

    private let reports: [CrashReport]
    private let observed: Timestamp

    /// Takes reports.
    ///
    /// - Parameters:
    ///   - reports: The reports, in the order of their records.
    ///   - observed: When the reports were collected.
    package init(_ reports: [CrashReport], observed: Timestamp = .now) {
        self.reports = reports
        self.observed = observed
    }

    /// Writes the records as one document, those of the same process under one resource.
    ///
    /// - Returns: JSON on one line, with a newline at the end.
    /// - Throws: `ReportFormatError` when a report cannot be written as JSON.
    package func bytes() throws(ReportFormatError) -> [UInt8] {
        var order: [[JSONValue]] = []
        var records: [[JSONValue]: [JSONValue]] = [:]
        for report in reports {
            let resource = report.openTelemetryResource
            if records[resource] == nil { order.append(resource) }
            records[resource, default: []].append(OTLPRecord(report, observed: observed).json)
        }
        let resources = order.map { resource in
            JSONValue.object([
                "resource": .object(["attributes": .array(resource)]),
                "scopeLogs": .array([
                    .object([
                        "scope": .object(["name": "holdfast", "version": .string(HoldfastVersion.current)]),
                        "logRecords": .array(records[resource] ?? []),
                        "schemaUrl": .string(Self.schema),
                    ])
                ]),
                "schemaUrl": .string(Self.schema),
            ])
        }
        return try JSONValue.object(["resourceLogs": .array(resources)]).line() + [UInt8(ascii: "\n")]
    }
}

/// A report as a log record.
struct OTLPRecord {
    private let report: CrashReport
    private let observed: Timestamp

    /// Frames of the stack that are told, half of them from each end.
    private static let mostFrames = 256

    init(_ report: CrashReport, observed: Timestamp) {
        self.report = report
        self.observed = observed
    }

    var json: JSONValue {
        let severity = severity
        return .members([
            "timeUnixNano": .string(Self.nanoseconds(report.timestamp)),
            "observedTimeUnixNano": .string(Self.nanoseconds(observed)),
            "severityNumber": .integer(severity.number),
            "severityText": .string(severity.text),
            "eventName": .string("holdfast.\(report.kind.event)"),
            "body": OTLPAttributes.value(body),
            "attributes": .array(attributes),
            "traceId": JSONValue(identifier("trace_id", digits: 32)),
            "spanId": JSONValue(identifier("span_id", digits: 16)),
        ])
    }

    /// What was resumed is an error; what ended or restarted the process is fatal; a stall is a warning.
    private var severity: (number: Int, text: String) {
        if report.kind == .stall { return (13, "WARN") }
        if report.kind == .death, report.death?.isOrderly == true { return (9, "INFO") }
        return report.verdict.decision == .resume ? (17, "ERROR") : (21, "FATAL")
    }

    /// Seconds since 1970 need no more than 60 bits in nanoseconds for times up to the year 2554, and OTLP has 64.
    static func nanoseconds(_ time: Timestamp) -> String {
        String(UInt64(time.microsecondsSinceEpoch).multipliedReportingOverflow(by: 1000).partialValue)
    }

    private var body: String { "\(report.reason): \(report.verdict.decision.rawValue)".limited(to: 4096) }

    /// The trace that the application was working on, if it said so in a tag.
    private func identifier(_ name: String, digits: Int) -> String? {
        guard let text = report.tag(name)?.lowercased(), text.utf8.count == digits,
            text.utf8.allSatisfy({ (48...57).contains($0) || (97...102).contains($0) }),
            // All zeros is what an identifier that is not valid looks like.
            text.contains(where: { $0 != "0" })
        else { return nil }
        return text
    }

    private var attributes: [JSONValue] {
        var attributes = OTLPAttributes()
        addException(to: &attributes)
        addPlace(to: &attributes)
        addHoldfast(to: &attributes)
        addContext(to: &attributes)
        return attributes.list
    }

    private func addException(to attributes: inout OTLPAttributes) {
        let fault = report.fault
        attributes.add("exception.type", fault?.exception?.type ?? report.faultName)
        attributes.add("exception.message", fault?.exception?.message ?? fault?.message ?? report.reason)
        attributes.add("exception.stacktrace", stack)
    }

    private func addPlace(to attributes: inout OTLPAttributes) {
        if report.hasThread { attributes.add("thread.id", report.thread.id) }
        attributes.add("thread.name", report.thread.name)
        if let frame = report.thread.frames.first(where: \.isApplicationCode) {
            attributes.add("code.function.name", frame.function)
            attributes.add("code.file.path", frame.file)
            attributes.add("code.line.number", frame.line)
            attributes.add("code.column.number", frame.column)
        }
    }

    private func addHoldfast(to attributes: inout OTLPAttributes) {
        attributes.add("holdfast.report.id", report.id.rawValue)
        attributes.add("holdfast.fingerprint", report.fingerprint.rawValue)
        attributes.add("holdfast.occurrences", report.occurrences.count)
        if let stall = report.stall {
            add(stall, to: &attributes)
        } else if let fault = report.fault {
            attributes.add("holdfast.signal.name", fault.signal.name)
            attributes.add("holdfast.signal.number", fault.signal.number)
            attributes.add("holdfast.signal.code", fault.code.name)
            attributes.add("holdfast.access", fault.access.rawValue)
            attributes.add("holdfast.address", fault.address?.description)
            attributes.add("holdfast.address.kind", fault.addressKind?.rawValue)
        }
        if let death = report.death { add(death, to: &attributes) }
        attributes.add("holdfast.reason", report.reason)
        attributes.add("holdfast.diagnosis", report.diagnosis?.summary)
        attributes.add("holdfast.diagnosis.next", report.diagnosis?.next ?? [])
        attributes.add("holdfast.verdict", report.verdict.decision.rawValue)
        attributes.add("holdfast.verdict.reason", report.verdict.reason)
        attributes.add("holdfast.process.restarts", report.process.restarts)
        attributes.add("holdfast.process.uptime", report.process.uptimeSeconds)
        attributes.add("holdfast.recovery.drained", report.recovery?.drained)
        attributes.add("holdfast.recovery.quarantined", report.recovery?.quarantined)
        attributes.add("holdfast.recovery.touched", report.recovery?.touched ?? [])
        attributes.add("holdfast.loop.mode", report.loop?.mode)
        attributes.add("holdfast.loop.callout.kind", report.loop?.callout?.kind.rawValue)
        attributes.add("holdfast.loop.callout.label", report.loop?.callout?.label)
        attributes.add("holdfast.notes", report.notes)
    }

    private func add(_ death: CrashReport.Death, to attributes: inout OTLPAttributes) {
        attributes.add("holdfast.death.cause", death.cause.rawValue)
        attributes.add("holdfast.death.confidence", death.confidence.rawValue)
        attributes.add("holdfast.death.scope", death.scope)
        attributes.add("holdfast.death.status", death.status)
        attributes.add("holdfast.death.signal", death.signal)
        attributes.add("holdfast.death.evidence", Array(death.evidence.prefix(32)))
        attributes.add("holdfast.death.action", death.action)
    }

    private func add(_ stall: CrashReport.Stall, to attributes: inout OTLPAttributes) {
        attributes.add("holdfast.stall.subject", stall.subject.rawValue)
        attributes.add("holdfast.stall.label", stall.label)
        attributes.add("holdfast.stall.length", stall.length)
        attributes.add("holdfast.stall.threshold", stall.threshold)
        attributes.add("holdfast.stall.end", stall.end.rawValue)
        attributes.add("holdfast.stall.activity", stall.activities.first?.text)
        attributes.add("holdfast.stall.processor", stall.processorSeconds)
        attributes.add("holdfast.stall.waited_for_processor", stall.waitedForProcessorSeconds)
        attributes.add("holdfast.stall.path", stall.heaviestPlaces(atMost: 64))
    }

    private func addContext(to attributes: inout OTLPAttributes) {
        guard let context = report.context else { return }
        // Names that the application chose: sorted, so that the same report is the same document.
        for (name, value) in context.tags.first(Self.most) {
            attributes.add("holdfast.tag.\(name)", value)
        }
        for (name, value) in context.annotations.first(Self.most) {
            attributes.add("holdfast.annotation.\(name)", value)
        }
        for (name, value) in context.environment.first(Self.most) {
            attributes.add("process.environment_variable.\(name)", value)
        }
        attributes.add("holdfast.memory.resident", context.memory?.resident)
        attributes.add("holdfast.memory.virtual", context.memory?.virtual)
        attributes.add("holdfast.descriptors.open", context.descriptors?.open)
        attributes.add("holdfast.threads", context.threadCount)
        attributes.add("holdfast.breadcrumbs", values: context.breadcrumbs.suffix(Self.most).map(breadcrumb))
    }

    /// How many values of a kind go into a record: real reports have fewer.
    private static let most = 1024

    private func breadcrumb(_ breadcrumb: CrashReport.Breadcrumb) -> JSONValue {
        var keys = OTLPAttributes()
        keys.add("time", breadcrumb.time.description)
        keys.add("kind", breadcrumb.kind.rawValue)
        keys.add("text", breadcrumb.text)
        keys.add("level", breadcrumb.level)
        keys.add("thread", breadcrumb.thread)
        return .object(["kvlistValue": .object(["values": .array(keys.list)])])
    }

    /// The stack, the innermost frame first, one line each.
    private var stack: String {
        let frames = report.thread.frames
        let half = Self.mostFrames / 2
        guard frames.count > Self.mostFrames else { return Self.lines(frames) }
        return [Self.lines(frames.prefix(half)), "…", Self.lines(frames.suffix(half))].joined(separator: "\n")
    }

    private static func lines(_ frames: some Sequence<CrashReport.Frame>) -> String {
        frames.map { "\($0.index)  \($0.oneLine.limited(to: 1024))" }.joined(separator: "\n")
    }
}

extension CrashReport {
    /// The process and the machine as a resource of OpenTelemetry.
    var openTelemetryResource: [JSONValue] {
        var resource = OTLPAttributes()
        resource.add("service.name", tag("service.name") ?? process.name)
        resource.add("service.version", tag("release") ?? tag("service.version"))
        resource.add("deployment.environment.name", tag("environment"))
        resource.add("process.pid", process.pid)
        resource.add("process.parent_pid", process.parentPid)
        resource.add("process.executable.name", process.executable.split(separator: "/").last.map(String.init))
        resource.add("process.executable.path", process.executable)
        resource.add("process.executable.build_id.gnu", process.buildID)
        resource.add("process.command", process.arguments.first)
        resource.add("process.command_args", process.arguments)
        resource.add("process.creation.time", process.startTime.description)
        if let swift = runtime.swift {
            resource.add("process.runtime.name", "swift")
            resource.add("process.runtime.version", swift)
        }
        resource.add("host.name", host.name)
        resource.add("host.arch", Self.architectures[host.architecture] ?? host.architecture)
        resource.add("os.type", "linux")
        resource.add("os.description", host.os)
        resource.add("os.version", host.kernel)
        resource.add("container.id", context?.container?.id)
        resource.add("container.runtime.name", context?.container?.runtime)
        return resource.list
    }

    /// The conventions have names of their own for architectures.
    private static let architectures = ["x86_64": "amd64"]
}

/// Attributes one after the other, each a key with a value as OTLP has it in JSON; what is absent is left out.
struct OTLPAttributes {
    private(set) var list: [JSONValue] = []

    /// The longest text that is passed on, in characters.
    static let longestText = 32_768

    /// A text.
    static func value(_ text: String) -> JSONValue {
        .object(["stringValue": .string(text.limited(to: longestText))])
    }

    mutating func add(_ key: String, _ text: String?) {
        guard let text, !text.isEmpty else { return }
        put(key, Self.value(text))
    }

    /// Numbers of 64 bits are strings in JSON, as protobuf has it.
    mutating func add(_ key: String, _ number: Int?) {
        guard let number else { return }
        put(key, .object(["intValue": .string(String(number))]))
    }

    /// `NaN` and `Infinity` are strings there, too, but of other spelling than Swift's.
    mutating func add(_ key: String, _ number: Double?) {
        guard let number else { return }
        put(key, .object(["doubleValue": .number(number.isFinite ? number : 0)]))
    }

    mutating func add(_ key: String, _ flag: Bool?) {
        guard let flag else { return }
        put(key, .object(["boolValue": .bool(flag)]))
    }

    mutating func add(_ key: String, _ texts: [String]) { add(key, values: texts.map(Self.value)) }

    mutating func add(_ key: String, values: [JSONValue]) {
        guard !values.isEmpty else { return }
        put(key, .object(["arrayValue": .object(["values": .array(values)])]))
    }

    private mutating func put(_ key: String, _ value: JSONValue) {
        list.append(.object(["key": .string(key), "value": value]))
    }
}
