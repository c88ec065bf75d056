internal import CrashReports
internal import Symbolication

/// Writes records that came at about the same time, each report once, however many of them count in it.
struct ReportBatch {
    private let store: ReportStore
    private var folding = ReportFolding()
    private var builder: ReportBuilder?
    private var images: [CrashReport.Image] = []
    /// The version of the table that they were read from.
    private var imagesVersion: UInt32 = 0
    /// Addresses that lay in no image when the images were last read.
    private var homeless: Set<UInt64> = []

    /// The reports that equal faults are counted in, while there is a flood of them: they are long, and reading them is half of the work.
    private var groups: [ReportID: ReportStore.KnownReport] = [:]
    /// How many of them are kept.
    private static let mostGroups = 16

    /// How many records are written without a pause.
    ///
    /// The first reports of a program take longest, because their symbols are read, and a flood begins with many of them.
    private static let mostAtOnce = 8

    init(store: ReportStore) {
        self.store = store
    }

    private struct Count {
        var slots: [UInt32] = []
        var faults = 0
        var last: Timestamp
        var others: [CrashReport.Occurrences.Other] = []
    }

    /// Writes records; returns the slots that are in the store now, and the errors of the others.
    ///
    /// Each slot is released as soon as its record is in the store: a report takes milliseconds, and a fault that finds no free slot waits
    /// no longer than for a verdict. `pause` is called after each report of a flood.
    mutating func write(
        _ records: [(slot: UInt32, bytes: [UInt8])],
        sections: (UInt32) -> (threads: [UInt8], memory: [UInt8]) = { _ in ([], []) },
        imagesVersion: () -> UInt32 = { 0 },
        spool: () -> [UInt8],
        context: (Int) -> [UInt8]? = { _ in nil },
        details: (Int) -> FaultDetails.Taken = { _ in FaultDetails.Taken() },
        tell: (CrashReport, Int, UInt32) -> Void = { _, _, _ in },
        tellCount: (Int, ReportID) -> Void = { _, _ in },
        release: (UInt32) -> Void,
        pause: () -> Void = {}
    ) -> (done: [UInt32], error: (any Error)?) {
        var done: [UInt32] = []
        func finish(_ slot: UInt32) {
            release(slot)
            done.append(slot)
        }
        var failure: (any Error)?
        var counts: [ReportID: Count] = [:]
        for (slot, bytes) in records {
            guard var record = FaultRecord(bytes: bytes), record.number > 0 else {
                // A free slot, or one whose record was cut off with its file: there is nothing to report.
                finish(slot)
                continue
            }
            let key = ReportFolding.key(of: record)
            let last = max(record.time, record.lastRepeat ?? record.time)
            do {
                let action = folding.next(key, at: record.time)
                folding.lasted(key, until: last)
                switch action {
                case .count(let id):
                    var count = counts[id] ?? Count(last: last)
                    count.slots.append(slot)
                    count.faults += 1 + record.repeats
                    count.last = max(count.last, last)
                    let details = details(record.number)
                    count.others += own(details, record) + counted(details)
                    counts[id] = count
                case .write:
                    attach(sections(slot), to: &record)
                    var report = try self.report(of: record, imagesVersion(), spool, context)
                    report.list(counted(details(record.number)))
                    // Logged first: the disk may stand still.
                    tell(report, key, slot)
                    let id = try store.add(report)
                    // The store has enough of them: of this fault with other callers, or from a process before.
                    if id != report.id { folding.began(key, id) }
                    finish(slot)
                    if records.count > Self.mostAtOnce { pause() }
                case .writeGroup:
                    attach(sections(slot), to: &record)
                    var report = try self.report(of: record, imagesVersion(), spool, context)
                    report.list(counted(details(record.number)))
                    tell(report, key, slot)
                    folding.began(key, try store.add(report))
                    finish(slot)
                    if records.count > Self.mostAtOnce { pause() }
                }
            } catch {
                failure = error
            }
        }
        if counts.isEmpty { groups = [:] }
        for (id, count) in counts {
            do {
                try add(count, to: id)
                tellCount(count.faults, id)
                for slot in count.slots { finish(slot) }
            } catch {
                folding.lost(id)
                failure = error
            }
        }
        return (done, failure)
    }

    /// A fault as the report lists it in which it is counted; none if nobody was given its id.
    private func own(_ details: FaultDetails.Taken, _ record: FaultRecord) -> [CrashReport.Occurrences.Other] {
        if let own = details.own { return [own] }
        guard record.loop?.callout?.kind == .task, record.verdict == .resume else { return [] }
        return other(FaultDetails.Folded(number: record.number, time: record.time))
    }

    /// Those that are counted in its record.
    private func counted(_ details: FaultDetails.Taken) -> [CrashReport.Occurrences.Other] {
        details.folded + details.untold.flatMap(other)
    }

    private func other(_ fault: FaultDetails.Folded) -> [CrashReport.Occurrences.Other] {
        let id = builder?.id(ofFault: fault.number, at: fault.time)
        return id.map { [CrashReport.Occurrences.Other(id: $0, time: fault.time, tags: [:])] } ?? []
    }

    private func attach(_ sections: (threads: [UInt8], memory: [UInt8]), to record: inout FaultRecord) {
        record.attach(threads: sections.threads, memory: sections.memory)
    }

    private mutating func add(_ count: Count, to id: ReportID) throws {
        let known = groups.removeValue(forKey: id)
        let group = try store.update(id, known: known) { report in
            report.count(count.faults, last: count.last)
            report.list(count.others)
        }
        if groups.count < Self.mostGroups { groups[id] = group }
    }

    /// Whether symbols of the images are in memory.
    var hasSymbols: Bool { builder?.hasSymbols == true }

    /// Frees them; the next report has them read again.
    func forgetSymbols() { builder?.forgetSymbols() }

    private mutating func report(
        of record: FaultRecord,
        _ version: UInt32,
        _ spool: () -> [UInt8],
        _ context: (Int) -> [UInt8]?
    ) throws -> CrashReport {
        var record = record
        record.context = context(record.number).flatMap(FaultContext.init(bytes:))
        // The images may have changed since the last report. Their table is copied only if it has changed, or if an address lies in no
        // image.
        let addresses = record.frames + (record.threads?.threads.flatMap(\.frames) ?? [])
        if let builder, version == imagesVersion, addresses.allSatisfy({ isCovered($0) || homeless.contains($0) }) {
            return builder.report(of: record, images: images)
        }
        let contents = try SpoolContents(bytes: spool())
        images = contents.images
        imagesVersion = version
        if homeless.count > 4096 { homeless = [] }
        homeless.formUnion(addresses.filter { !isCovered($0) })
        let builder = self.builder ?? ReportBuilder(process: contents.process)
        self.builder = builder
        return builder.report(of: record, images: images)
    }

    private func isCovered(_ address: UInt64) -> Bool {
        images.contains { address >= $0.base.rawValue && address < $0.end.rawValue }
    }
}
