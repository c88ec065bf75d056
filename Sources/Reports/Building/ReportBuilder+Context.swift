/// What the process was doing, had and was allowed, and what of its texts may be told.
extension ReportBuilder {
    /// More breadcrumbs than these are left out, the oldest ones first.
    private static var maximumBreadcrumbs: Int { 128 }

    func context(_ kept: FaultContext?, at time: Timestamp, uptimeNanoseconds: Int64) -> CrashReport.Context? {
        let surroundings = process.surroundings
        let redaction = surroundings.redaction
        var context = CrashReport.Context()
        // The process left out what a secret's name had, but for variables that it was told to tell by their whole names.
        context.environment = surroundings.environment.mapValues(redaction.redact)
        context.container = surroundings.container
        if let kept {
            (context.breadcrumbs, context.breadcrumbsLost) = breadcrumbs(of: kept, at: time, uptimeNanoseconds)
            context.annotations = kept.annotations.mapValues(redaction.redact)
            context.tags = kept.tags.mapValues(redaction.redact)
            context.memory = kept.system?.memory
            context.load = kept.system?.load
            context.threadCount = kept.system?.threadCount
            context.limits = kept.system?.limits ?? [:]
            context.descriptors = kept.system?.openDescriptors.map {
                CrashReport.Context.Descriptors(open: $0, limit: kept.system?.descriptorLimit)
            }
        }
        return context == CrashReport.Context() ? nil : context
    }

    /// What happened up to the fault, by time, and how much of it is missing.
    private func breadcrumbs(
        of context: FaultContext,
        at time: Timestamp,
        _ uptimeNanoseconds: Int64
    ) -> ([CrashReport.Breadcrumb], Int) {
        // The clock of the events, at the fault: a change of the date since the start does not count.
        let (end, overflow) = process.startMonotonicNanoseconds.addingReportingOverflow(uptimeNanoseconds)
        guard !overflow else { return ([], 0) }
        let notes = context.notes.filter { $0.time <= end }
        let allEvents = context.events.filter { $0.time <= end }
        let events = allEvents.suffix(max(0, Self.maximumBreadcrumbs - notes.count))
        let redaction = process.surroundings.redaction
        let all = Self.merge(Array(events), notes).map { event in
            let age = end.subtractingReportingOverflow(event.time)
            return CrashReport.Breadcrumb(
                time: Timestamp(
                    microsecondsSinceEpoch: time.microsecondsSinceEpoch
                        &- (age.overflow ? 0 : age.partialValue / 1000)
                ),
                kind: event.kind,
                text: event.kind == .note ? redaction.redact(event.text) : event.text,
                thread: event.thread > 0 ? event.thread : nil,
                level: event.level
            )
        }
        return (all, context.lost + allEvents.count - events.count)
    }

    /// Merges by time, without a change of the order of either: an event has the time of a reading of the clock before it.
    private static func merge(_ events: [FaultContext.Event], _ notes: [FaultContext.Event]) -> [FaultContext.Event] {
        var merged: [FaultContext.Event] = []
        var next = notes[...]
        for event in events {
            while let note = next.first, note.time <= event.time { merged.append(next.removeFirst()) }
            merged.append(event)
        }
        return merged + next
    }

    // MARK: Privacy

    /// The record without what may not be told.
    ///
    /// What names items stays as it is: the process after this one goes by these names.
    func redacted(_ record: FaultRecord) -> FaultRecord {
        let redaction = process.surroundings.redaction
        var record = record
        record.message = redaction.redact(record.message)
        record.abortMessage = redaction.redact(record.abortMessage)
        record.tags = record.tags.mapValues(redaction.redact)
        if let message = record.exception?.message { record.exception?.message = redaction.redact(message) }
        return record
    }

    /// Says that the context could not be kept, where that is worth a word.
    func contextNotes(on record: FaultRecord) -> [String] {
        guard process.surroundings.hasContexts, record.context == nil, record.stage != .incomplete,
            !record.facts.contains(.forkedChild)
        else { return [] }
        return ["there was no room to keep what the process was doing: many faults came at once"]
    }
}
