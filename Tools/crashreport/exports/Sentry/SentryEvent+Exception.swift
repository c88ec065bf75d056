internal import CrashReports

/// The fault and the threads.
extension SentryEvent {
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
        case .other(let kind): .members(["type": .string(text(kind.rawValue)), "synthetic": true])
        }
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
                "next": .list(report.diagnosis?.next.map { .string(text($0)) } ?? []),
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
                "next": .list(report.diagnosis?.next.map { .string(text($0)) } ?? []),
            ]),
        ])
    }

    /// The stack of the thread that faulted is in the exception, which names the thread.
    var threads: [JSONValue] {
        let faulted = JSONValue.members([
            "id": .integer(report.thread.id),
            "name": JSONValue(report.thread.name.map(text)),
            "crashed": .bool(report.fault != nil),
            "current": true,
            "main": .bool(report.thread.isMain),
        ])
        let others = report.otherThreads.prefix(detail.threads).map { thread in
            JSONValue.members([
                "id": .integer(thread.id),
                "name": JSONValue(thread.name.map(text)),
                "crashed": false,
                "current": false,
                "main": .bool(thread.isMain),
                "state": JSONValue(thread.state?.rawValue),
                "stacktrace": stacktrace(of: thread),
            ])
        }
        return (report.hasThread ? [faulted] : []) + others
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
            "registers": .strings(thread.registers.mapValues(\.padded)),
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

    private static func positive(_ number: Int?) -> Int? {
        number.flatMap { $0 > 0 ? $0 : nil }
    }

    /// The last two parts of a path: names of files should not be the same for different files.
    private static func shortPath(_ path: String) -> String {
        path.split(separator: "/").suffix(2).joined(separator: "/")
    }
}
