internal import CrashReports

/// What the process had, and what went before.
extension SentryEvent {
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
