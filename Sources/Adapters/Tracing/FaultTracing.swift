#if Tracing
@_exported public import Holdfast
internal import Synchronization
internal import Tracing

extension EventHost {
    /// Tells traces of faults in fault boundaries, and reports of traces.
    ///
    /// The innermost span of the work that faulted gets an event `exception` with the report's id, the status *error*, and ends: the body was
    /// not unwound, so nobody else would end it. This needs a tracer with `activeSpan(identifiedBy:)`. The report's tags get what the tracer
    /// would send to a peer, such as `traceparent`.
    ///
    /// Call it once, when the `InstrumentationSystem` has its tracer. A second call does nothing.
    public nonisolated func traceFaults() {
        guard !isTracing.exchange(true, ordering: .acquiringAndReleasing) else { return }
        BoundaryHost.addSource { fault in
            guard let context = ServiceContext.current else { return [:] }
            end(InstrumentationSystem.tracer, context, fault)
            var tags: [String: String] = [:]
            InstrumentationSystem.instrument.inject(context, into: &tags, using: TagInjector())
            return tags
        }
    }
}

private let isTracing = Atomic<Bool>(false)

private func end(_ tracer: some Tracer, _ context: ServiceContext, _ fault: FaultError) {
    guard let span = tracer.activeSpan(identifiedBy: context) else { return }
    // The names of OpenTelemetry's semantic conventions for exceptions.
    var attributes: SpanAttributes = [
        "exception.type": "fault", "exception.message": "\(fault.reason)",
    ]
    if let report = fault.report { attributes["crash.report"] = "\(report)" }
    if let location = fault.location { attributes["code.location"] = "\(location)" }
    span.addEvent(SpanEvent(name: "exception", attributes: attributes))
    span.setStatus(SpanStatus(code: .error, message: fault.reason))
    span.end()
}

private struct TagInjector: Injector {
    func inject(_ value: String, forKey key: String, into tags: inout [String: String]) { tags[key] = value }
}
#endif
