internal import CrashReports
internal import LinuxSystem

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
        /// Tags, variables, arguments and other things that come in lists.
        var values: Int

        /// From all that Sentry would show down to what surely fits.
        static let steps = [
            // Sentry itself keeps 500 frames of each end.
            Detail(frames: 1000, threads: 256, text: 8192, images: 1024, values: 512),
            Detail(frames: 100, threads: 64, text: 2048, images: 256, values: 128),
            Detail(frames: 50, threads: 0, text: 256, images: 64, values: 64),
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

    /// A fault that was resumed did not end the session; a stall is none, and an orderly end is no mistake.
    private var level: String {
        if report.kind == .stall { return "warning" }
        if report.kind == .death, report.death?.isOrderly == true { return "info" }
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
        for (name, value) in (report.context?.tags ?? [:]).first(detail.values) {
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

    /// Named values as far as there is room.
    private func strings(_ values: [String: String]?) -> JSONValue? {
        .strings(Dictionary(uniqueKeysWithValues: (values ?? [:]).first(detail.values).map { ($0, text($1)) }))
    }

    private var extra: JSONValue? {
        let context = report.context
        let extra = JSONValue.members([
            "annotations": strings(context?.annotations),
            "environment": strings(context?.environment),
            "arguments": .list(report.process.arguments.prefix(detail.values).map { .string(text($0)) }),
            "notes": .list(report.notes.prefix(detail.values).map { .string(text($0)) }),
        ])
        return extra == .object([:]) ? nil : extra
    }

    // MARK: The fault and the threads

    var exception: JSONValue {
        let exception = report.fault?.exception
        return .members([
            "type": .string(text(exception?.type ?? report.faultName)),
            "value": .string(text(exception?.message ?? report.reason)),
            // What was pinged has no thread that is known.
            "thread_id": report.hasThread ? .integer(report.thread.id) : nil,
            "mechanism": mechanism,
            "stacktrace": stacktrace(of: report.thread),
        ])
    }

    private var mechanism: JSONValue {
        switch report.subject {
        case .fault(let fault): mechanism(of: fault)
        case .stall(let stall): mechanism(of: stall)
        case .death: report.death.map(mechanism(of:)) ?? .members(["type": "death", "synthetic": true])
        case .other(let kind): .members(["type": .string(text(kind.rawValue)), "synthetic": true])
        }
    }

    private func mechanism(of death: CrashReport.Death) -> JSONValue {
        .members([
            "type": "death",
            "handled": .bool(death.isOrderly),
            "synthetic": true,
            "description": .string(text(death.sentence)),
            "data": .members([
                "cause": .string(text(death.cause.rawValue)),
                "confidence": .string(text(death.confidence.rawValue)),
                "scope": JSONValue(death.scope.map(text)),
                "status": JSONValue(death.status),
                "signal": JSONValue(death.signal.map(text)),
                "evidence": .list(death.evidence.prefix(32).map { .string(text($0)) }),
                "next": .list(death.next.prefix(10).map { .string(text($0)) }),
            ]),
        ])
    }

    private func mechanism(of fault: CrashReport.Fault) -> JSONValue {
        .members([
            "type": "signalhandler",
            // A fault that was resumed did not end the session.
            "handled": .bool(report.verdict.decision == .resume),
            // Without words of its own it is better known by its function than by its signal.
            "synthetic": .bool(fault.exception == nil && fault.message == nil),
            "description": JSONValue(report.diagnosis.map { text($0.summary) }),
            "meta": .object([
                "signal": .object([
                    "number": .integer(fault.signal.number), "name": .string(fault.signal.name),
                    "code": .integer(fault.code.number), "code_name": .string(fault.code.name),
                ])
            ]),
            "data": .members([
                "relevant_address": JSONValue(fault.address?.description),
                "access": .string(fault.access.rawValue),
                "address_kind": JSONValue(fault.addressKind?.rawValue),
                "message": JSONValue(fault.message.map(text)),
                "next": .list(report.diagnosis?.next.prefix(10).map { .string(text($0)) } ?? []),
                "sender_pid": JSONValue(fault.sender?.pid),
                "sender_uid": JSONValue(fault.sender?.uid),
            ]),
        ])
    }

    /// Nothing was signalled: somebody looked.
    private func mechanism(of stall: CrashReport.Stall) -> JSONValue {
        .members([
            "type": "stall",
            "handled": true,
            "synthetic": true,
            "description": JSONValue(report.diagnosis.map { text($0.summary) }),
            "data": .members([
                "subject": .string(text(stall.subject.rawValue)),
                "label": JSONValue(stall.label.map(text)),
                "seconds": .number(stall.length),
                "threshold_seconds": .number(stall.threshold),
                "end": .string(text(stall.end.rawValue)),
                "activity": JSONValue(stall.activities.first.map { text($0.text) }),
                "processor_seconds": stall.processorSeconds.map(JSONValue.number),
                "waited_for_processor_seconds": stall.waitedForProcessorSeconds.map(JSONValue.number),
                "heaviest_path": .list(stall.heaviestPlaces(atMost: 64).map { .string(text($0)) }),
                "next": .list(report.diagnosis?.next.prefix(10).map { .string(text($0)) } ?? []),
            ]),
        ])
    }

    var threads: [JSONValue] {
        let others = report.otherThreads.prefix(detail.threads).map { thread($0, isFirst: false) }
        return (report.hasThread ? [thread(report.thread, isFirst: true)] : []) + others
    }

    /// The stack of the thread that faulted is in the exception, which names the thread.
    private func thread(_ thread: CrashReport.Thread, isFirst: Bool) -> JSONValue {
        .members([
            "id": .integer(thread.id),
            "name": JSONValue(thread.name.map(text)),
            "crashed": .bool(isFirst && report.fault != nil),
            "current": .bool(isFirst),
            "main": .bool(thread.isMain),
            "state": isFirst ? nil : JSONValue(thread.state?.rawValue),
            "stacktrace": isFirst ? nil : stacktrace(of: thread),
        ])
    }

    /// Frames from the oldest to the newest; nil without any, for Sentry refuses an empty list.
    private func stacktrace(of thread: CrashReport.Thread) -> JSONValue? {
        var frames = thread.frames
        if frames.count > detail.frames {
            frames = frames.prefix(detail.frames / 2) + frames.suffix(detail.frames / 2)
        }
        guard !frames.isEmpty else { return nil }
        return .members([
            "frames": .array(frames.reversed().map(frame)),
            "registers": strings(thread.registers.mapValues(\.padded)),
        ])
    }

    private func frame(_ frame: CrashReport.Frame) -> JSONValue {
        let image = report.image(of: frame)
        let rawName = frame.rawName == frame.function ? nil : frame.rawName
        return .members([
            "function": JSONValue(frame.function.map(text)),
            "raw_function": JSONValue(rawName.map(text)),
            "filename": JSONValue(frame.file.map { text(Self.shortPath($0)) }),
            "abs_path": JSONValue(frame.file.map(text)),
            "lineno": JSONValue(Self.positive(frame.line)),
            "colno": JSONValue(Self.positive(frame.column)),
            "in_app": .bool(frame.isApplicationCode),
            "package": JSONValue((image?.path ?? frame.imageName).map(text)),
            // A frame with an address is symbolicated again where Sentry has the file, inlined calls and all: theirs is
            // the address of the frame that they are inlined into.
            "instruction_addr": frame.inlined ? nil : .string(frame.address.description),
            "symbol_addr": JSONValue(frame.functionAddress?.description),
            "image_addr": JSONValue(image?.base.description),
        ])
    }

    private static func positive(_ number: Int?) -> Int? { number.flatMap { $0 > 0 ? $0 : nil } }

    /// The last two parts of a path: names of files should not be the same for different files.
    private static func shortPath(_ path: String) -> String {
        path.split(separator: "/").suffix(2).joined(separator: "/")
    }

    // MARK: The images, for whoever has their debug information

    /// Images with a build identifier: Sentry knows an image by it, and refuses one without.
    var images: [JSONValue] {
        let used = Set(report.threads.flatMap(\.frames).compactMap { report.image(of: $0)?.base })
        let known = report.images.filter { $0.identifierBytes != nil }
        // Those that have frames first, in case there is no room for all.
        let ordered = known.filter { used.contains($0.base) } + known.filter { !used.contains($0.base) }
        return ordered.prefix(detail.images).map(image)
    }

    private func image(_ image: CrashReport.Image) -> JSONValue {
        .members([
            "type": "elf",
            "image_addr": .string(image.base.description),
            "image_size": .integer(Int(clamping: image.size)),
            "debug_id": JSONValue(image.identifierBytes.map(Self.debugID)),
            "code_id": JSONValue(image.buildID?.lowercased()),
            "code_file": .string(text(image.path)),
            "arch": .string(report.host.architecture),
        ])
    }

    /// The first 16 bytes of the build identifier as a little-endian UUID: the bytes of its first three fields turned.
    static func debugID(_ bytes: [UInt8]) -> String {
        let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]
        return order.enumerated().map { place, index in
            ([4, 6, 8, 10].contains(place) ? "-" : "") + hexDigits([bytes[index]])
        }.joined()
    }

    // MARK: What the process had, and what went before

    var contexts: JSONValue {
        .members([
            "os": .members([
                "type": "os",
                "name": "Linux",
                "version": .string(text(report.host.kernel)),
                "kernel_version": .string(text(report.host.kernel)),
                "distribution_pretty_name": .string(text(report.host.os)),
            ]),
            "device": .members([
                "type": "device",
                "name": .string(text(report.host.name)),
                "arch": .string(report.host.architecture),
                "processor_count": .integer(report.host.processors),
                "memory_size": JSONValue(report.context?.memory?.systemTotal),
                "free_memory": JSONValue(report.context?.memory?.systemAvailable),
            ]),
            "runtime": report.runtime.swift.map {
                .object(["type": "runtime", "name": "Swift", "version": .string(text($0))])
            },
            "libc": report.runtime.libc.map {
                .object(["type": "runtime", "name": "libc", "raw_description": .string(text($0))])
            },
            "app": .members([
                "type": "app",
                "app_name": .string(text(report.process.name)),
                "app_identifier": .string(text(report.process.executable)),
                "app_build": JSONValue(report.process.buildID.map(text)),
                "app_start_time": .string(report.process.startTime.description),
                "app_memory": JSONValue(report.context?.memory?.resident),
                "app_arch": .string(report.host.architecture),
            ]),
            "holdfast": holdfast,
            "loop": loop,
            "resources": resources,
            "container": container,
        ])
    }

    private var holdfast: JSONValue {
        .members([
            "version": .string(report.runtime.holdfast),
            "verdict": .string(report.verdict.decision.rawValue),
            "verdict_reason": .string(text(report.verdict.reason)),
            "fault_number": JSONValue(report.fault?.number),
            "stall_number": JSONValue(report.stall?.number),
            "occurrences": .integer(report.occurrences.count),
            "first_seen": .string(report.occurrences.first.description),
            "last_seen": .string(report.occurrences.last.description),
            "pid": .integer(report.process.pid),
            "parent_pid": .integer(report.process.parentPid),
            "restarts": .integer(report.process.restarts),
            "uptime_seconds": .number(report.process.uptimeSeconds),
            "drained": report.recovery.map { .bool($0.drained) },
            "quarantined": report.recovery.map { .bool($0.quarantined) },
            "held_locks": JSONValue(report.recovery?.heldLocks),
            "touched": .list(report.recovery?.touched.map { .string(text($0)) } ?? []),
        ])
    }

    private var loop: JSONValue? {
        report.loop.map { loop in
            .members([
                "mode": .string(text(loop.mode)),
                "activity": .string(text(loop.activity)),
                "callout": JSONValue(loop.callout?.kind.rawValue),
                "label": JSONValue(loop.callout.map { text($0.label) }),
                "item": JSONValue(loop.callout?.item),
                "nesting": .integer(loop.nesting),
                "pass": .integer(loop.pass),
            ])
        }
    }

    private var resources: JSONValue? {
        guard let context = report.context else { return nil }
        let resources = JSONValue.members([
            "load": context.load.flatMap { .list($0.map(JSONValue.number)) },
            "resident_bytes": JSONValue(context.memory?.resident),
            "peak_resident_bytes": JSONValue(context.memory?.peakResident),
            "virtual_bytes": JSONValue(context.memory?.virtual),
            "open_descriptors": JSONValue(context.descriptors?.open),
            "descriptor_limit": JSONValue(context.descriptors?.limit),
            "threads": JSONValue(context.threadCount),
        ])
        return resources == .object([:]) ? nil : resources
    }

    private var container: JSONValue? {
        report.context?.container.map { container in
            .members([
                "runtime": JSONValue(container.runtime.map(text)),
                "id": JSONValue(container.id.map(text)),
                "control_group": JSONValue(container.controlGroup.map(text)),
                "memory_limit_bytes": JSONValue(container.memoryLimit),
                "processor_limit": container.processorLimit.map { .number($0) },
            ])
        }
    }

    /// The newest of them: Sentry keeps 100 by default.
    var breadcrumbs: JSONValue? {
        guard let breadcrumbs = report.context?.breadcrumbs, !breadcrumbs.isEmpty else { return nil }
        return .object(["values": .array(breadcrumbs.suffix(100).map(breadcrumb))])
    }

    private func breadcrumb(_ breadcrumb: CrashReport.Breadcrumb) -> JSONValue {
        .members([
            "timestamp": .string(breadcrumb.time.description),
            "type": breadcrumb.kind == .fault ? "error" : "default",
            "category": .string(breadcrumb.kind == .note ? "log" : "loop.\(text(breadcrumb.kind.rawValue))"),
            "message": .string(text(breadcrumb.text)),
            "level": .string(Self.level(of: breadcrumb)),
            "data": breadcrumb.thread.map { .object(["thread": .integer($0)]) },
        ])
    }

    /// Sentry has five levels, swift-log seven.
    private static func level(of breadcrumb: CrashReport.Breadcrumb) -> String {
        switch breadcrumb.level {
        case "trace", "debug": "debug"
        case "warning": "warning"
        case "error": "error"
        case "critical": "fatal"
        default: breadcrumb.kind == .fault ? "error" : "info"
        }
    }
}
