internal import CrashReports
internal import Symbolication

/// Writes records that came at about the same time: each report once, however many of them count in it.
struct ReportBatch {
    private let store: ReportStore
    private var folding = ReportFolding()
    private var builder: ReportBuilder?
    private var images: [CrashReport.Image] = []

    init(store: ReportStore) {
        self.store = store
    }

    private struct Count {
        var key: Int
        var slots: [UInt32] = []
        var last: Timestamp
    }

    /// Writes records; returns the slots that are in the store now, and what went wrong with the others.
    ///
    /// Each slot is released as soon as its record is in the store: a report takes milliseconds, and a fault that finds no slot free
    /// waits no longer than for a verdict.
    mutating func write(
        _ records: [(slot: UInt32, bytes: [UInt8])],
        spool: () -> [UInt8],
        release: (UInt32) -> Void
    ) -> (done: [UInt32], error: (any Error)?) {
        var done: [UInt32] = []
        func finish(_ slot: UInt32) {
            release(slot)
            done.append(slot)
        }
        var failure: (any Error)?
        var counts: [ReportID: Count] = [:]
        for (slot, bytes) in records {
            guard let record = FaultRecord(bytes: bytes) else {
                // A free slot: nothing is lost with it.
                finish(slot)
                continue
            }
            let key = ReportFolding.key(of: record)
            do {
                switch folding.next(key) {
                case .count(let id):
                    counts[id, default: Count(key: key, last: record.time)].slots.append(slot)
                    counts[id]?.last = record.time
                case .write:
                    try store.write(report(of: record, spool: spool))
                    finish(slot)
                case .writeGroup:
                    let report = try report(of: record, spool: spool)
                    try store.write(report)
                    folding.began(key, report.id)
                    finish(slot)
                }
            } catch {
                failure = error
            }
        }
        for (id, count) in counts {
            do {
                try add(count, to: id)
                for slot in count.slots { finish(slot) }
            } catch {
                folding.lost(count.key)
                failure = error
            }
        }
        return (done, failure)
    }

    private func add(_ count: Count, to id: ReportID) throws {
        _ = try store.update(id) { report in
            report.occurrences.count += count.slots.count
            report.occurrences.last = count.last
        }
    }

    private mutating func report(of record: FaultRecord, spool: () -> [UInt8]) throws -> CrashReport {
        // The images may have grown since the last report; their table is copied only when an address lies in none.
        let covered = record.frames.allSatisfy { address in
            images.contains { address >= $0.base.rawValue && address < $0.end.rawValue }
        }
        if let builder, covered {
            return builder.report(of: record, images: images)
        }
        let contents = try SpoolContents(bytes: spool())
        images = contents.images
        let builder = self.builder ?? ReportBuilder(process: contents.process)
        self.builder = builder
        return builder.report(of: record, images: images)
    }
}
