internal import Glibc
internal import Symbolication

/// Makes reports of raw records: names for addresses, words for numbers.
///
/// Keeps what it read of the images' files for the next record. For one thread at a time.
package final class ReportBuilder {
    let process: SpoolProcess
    private let namesFunctions: Bool
    private let files: SymbolFiles
    private var images: [CrashReport.Image] = []
    private var symbolicator = Symbolicator(images: [])

    /// Makes a builder for the records of one process.
    ///
    /// - Parameters:
    ///   - process: The process.
    ///   - namesFunctions: Whether to read the images' files; without, frames have image and offset only.
    package convenience init(process: SpoolProcess, namesFunctions: Bool = true) {
        self.init(process: process, namesFunctions: namesFunctions, files: SymbolFiles(.ofThisProcess, budget: .agent))
    }

    /// The same with files that other builders opened.
    init(process: SpoolProcess, namesFunctions: Bool, files: SymbolFiles) {
        self.process = process
        self.namesFunctions = namesFunctions
        self.files = files
    }

    /// Makes the report of a record.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - images: The images of the process at that time.
    ///   - notes: What else the reader should know.
    /// - Returns: A report with a new id, counted once for each fault that the record stands for.
    package func report(of record: FaultRecord, images: [CrashReport.Image], notes: [String] = []) -> CrashReport {
        let record = redacted(record)
        use(images)
        let frames = frames(
            at: record.frames.isEmpty ? place(of: record) : record.frames,
            headCount: record.headFrameCount,
            omitted: record.framesOmitted,
            awaits: record.frames.isEmpty ? [] : record.awaits,
            after: record.awaitPosition
        )
        let (fault, reason) = fault(of: record, runtimeFailure: frames.runtimeFailure)
        let time = time(of: record)
        var report = CrashReport(
            id: id(of: record.number, in: pid(of: record), at: time),
            subject: .fault(fault),
            reason: reason,
            timestamp: time,
            // Made of the whole report, below.
            fingerprint: Fingerprint(rawValue: ""),
            occurrences: CrashReport.Occurrences(
                count: 1 + record.repeats,
                first: time,
                last: max(time, record.lastRepeat ?? time)
            ),
            process: process(of: record, buildID: images.first?.buildID),
            host: process.host,
            runtime: process.runtime,
            loop: record.loop,
            thread: CrashReport.Thread(
                id: record.thread,
                name: record.threadName.isEmpty ? nil : record.threadName,
                isMain: record.facts.contains(.mainThread),
                frames: frames,
                framesOmitted: record.framesOmitted,
                framesTruncated: record.facts.contains(.walkBroken) || record.stage != .decided,
                registers: record.registers.mapValues(HexAddress.init(_:))
            ),
            otherThreads: threads(record.threads?.threads ?? [], in: pid(of: record)),
            threadsOmitted: record.threads?.omitted ?? 0,
            context: context(record.context, at: time, uptimeNanoseconds: record.uptimeNanoseconds),
            images: images,
            verdict: verdict(of: record),
            recovery: recovery(of: record),
            notes: notes + self.notes(on: record) + contextNotes(on: record)
        )
        report.add(tags: record.tags)
        report.explain()
        return report
    }

    /// The same for the same fault, so that a report that is made twice (because the process ended between writing it and
    /// releasing its record) is one file.
    ///
    /// Faults and stalls are both counted from 1, and a fault may come in the millisecond in which a stall began.
    private func id(of number: Int, in pid: Int, at time: Timestamp, isStall: Bool = false) -> ReportID {
        var generator = RecordGenerator(
            number: number,
            seed: UInt64(truncatingIfNeeded: pid) << 32 ^ UInt64(truncatingIfNeeded: number)
                ^ UInt64(bitPattern: process.startTime.microsecondsSinceEpoch) << 16 ^ (isStall ? 1 << 63 : 0)
        )
        return ReportID(time: time, using: &generator)
    }

    /// The id that the report of a fault of this process gets.
    ///
    /// - Parameters:
    ///   - number: Which fault of the process it is, from 1.
    ///   - time: When it was.
    /// - Returns: The id.
    package func id(ofFault number: Int, at time: Timestamp) -> ReportID { id(of: number, in: process.pid, at: time) }

    /// The id that the report of a record gets.
    package func id(of record: FaultRecord) -> ReportID {
        id(of: record.number, in: pid(of: record), at: time(of: record))
    }

    /// What went wrong, as far as the record itself tells: a fraction of the work of a report.
    package func reason(of record: FaultRecord) -> String {
        fault(of: redacted(record), runtimeFailure: nil).reason
    }

    // MARK: Stalls

    /// Makes the report of a stall.
    ///
    /// - Parameters:
    ///   - sighting: What was seen of it so far.
    ///   - images: The images of the process at that time.
    ///   - notes: What else the reader should know.
    /// - Returns: A report with the same id for the same stall, counted once.
    package func report(of sighting: StallSighting, images: [CrashReport.Image], notes: [String]) -> CrashReport {
        use(images)
        let (stall, seen) = (sighting.stall, sighting.thread)
        let frames = frames(of: seen)
        var report = CrashReport(
            id: id(of: stall.number, in: process.pid, at: stall.begin, isStall: true),
            subject: .stall(stall),
            reason: stall.reason,
            timestamp: stall.begin,
            // Made of the whole report, below.
            fingerprint: Fingerprint(rawValue: ""),
            occurrences: CrashReport.Occurrences(count: 1, first: stall.begin, last: stall.begin),
            process: process(uptimeNanoseconds: sighting.uptimeNanoseconds, buildID: images.first?.buildID),
            host: process.host,
            runtime: process.runtime,
            loop: sighting.loop,
            thread: CrashReport.Thread(
                id: seen.id,
                name: seen.name.isEmpty ? nil : seen.name,
                isMain: seen.id == process.pid,
                frames: frames,
                framesOmitted: seen.framesOmitted,
                framesTruncated: seen.outcome == .broken || seen.outcome == .silent
            ),
            otherThreads: threads(sighting.others, in: process.pid),
            threadsOmitted: sighting.othersOmitted,
            context: context(
                sighting.context,
                at: stall.begin,
                uptimeNanoseconds: sighting.uptimeNanoseconds
            ),
            images: images,
            verdict: CrashReport.Verdict(decision: .wait, reason: "nothing is done about it: it may end by itself"),
            tasks: sighting.tasks,
            notes: notes + self.notes
        )
        report.explain()
        return report
    }

    /// Whether what it read of the images' files is in memory.
    package var hasSymbols: Bool { namesFunctions && !images.isEmpty }

    /// Frees that; the next record has it read again.
    package func forgetSymbols() {
        images = []
        symbolicator = Symbolicator(images: [])
        files.closeAll()
    }

    func use(_ images: [CrashReport.Image]) {
        guard images != self.images else { return }
        self.images = images
        guard namesFunctions else { return }
        symbolicator = Symbolicator(
            images: images.map {
                SymbolImage(path: $0.path, base: $0.base.rawValue, end: $0.end.rawValue, buildID: $0.buildID)
            },
            files: files
        )
    }

    // MARK: Frames

    /// The calls of a stack that was seen.
    ///
    /// - Parameters:
    ///   - addresses: Program counters, innermost first: the first one exact, the rest return addresses.
    ///   - headCount: How many of them are the innermost ones.
    ///   - omitted: How many lie between these and the rest.
    ///   - awaits: The async calls behind them, as a record has them.
    ///   - awaitPosition: After how many of the addresses they come.
    ///   - images: The images of the process.
    /// - Returns: A frame for each, and those that were inlined there.
    package func frames(
        at addresses: [UInt64],
        headCount: Int,
        omitted: Int,
        awaits: [UInt64] = [],
        after awaitPosition: Int = .max,
        images: [CrashReport.Image]
    ) -> [CrashReport.Frame] {
        use(images)
        return frames(at: addresses, headCount: headCount, omitted: omitted, awaits: awaits, after: awaitPosition)
    }

    /// The same, with the images that are in use.
    ///
    /// - Parameters:
    ///   - addresses: Program counters.
    ///   - headCount: How many of them are the innermost ones.
    ///   - omitted: How many lie between these and the rest.
    ///   - awaits: The async calls behind them, as a record has them.
    ///   - awaitPosition: After how many of the addresses they come.
    /// - Returns: A frame for each, and those that were inlined there.
    func frames(
        at addresses: [UInt64],
        headCount: Int,
        omitted: Int,
        awaits: [UInt64] = [],
        after awaitPosition: Int = .max
    ) -> [CrashReport.Frame] {
        var frames: [CrashReport.Frame] = []
        var wasInterrupted = true
        for (position, address) in addresses.enumerated() {
            if position == awaitPosition { add(awaits, after: omittedBefore(position), to: &frames) }
            let isReturnAddress = !wasInterrupted
            wasInterrupted = symbolicator.isSignalReturn(address)
            let kind: CrashReport.Frame.Kind = isReturnAddress ? .returnAddress : .programCounter
            add(address, kind, after: omittedBefore(position), to: &frames)
        }
        if awaitPosition == addresses.count { add(awaits, after: omittedBefore(awaitPosition), to: &frames) }
        return frames

        func omittedBefore(_ position: Int) -> Int { position >= headCount && position > 0 ? omitted : 0 }
    }

    /// Adds the async calls of a task, and of those that it is a child of.
    private func add(_ awaits: [UInt64], after gap: Int, to frames: inout [CrashReport.Frame]) {
        var kind = CrashReport.Frame.Kind.await
        for address in awaits {
            if address == FaultRecord.parentTask {
                kind = .parentAwait
            } else {
                add(address, kind, after: gap, to: &frames)
            }
        }
    }

    /// Adds the function at an address, and what was inlined there.
    private func add(
        _ address: UInt64,
        _ kind: CrashReport.Frame.Kind,
        after gap: Int,
        to frames: inout [CrashReport.Frame]
    ) {
        let image = images.firstIndex { address >= $0.base.rawValue && address < $0.end.rawValue }
        let symbols = symbolicator.symbolicate(address: address, isReturnAddress: kind == .returnAddress)
        for symbol in symbols.isEmpty ? [SymbolicatedFrame.unknown] : symbols {
            frames.append(
                CrashReport.Frame(
                    symbol,
                    index: frames.count + gap,
                    address: HexAddress(address),
                    kind: kind,
                    image: image,
                    of: images
                )
            )
        }
    }

    /// Without a walk there is at least the place itself; in a record that was cut off, a zero is none.
    private func place(of record: FaultRecord) -> [UInt64] {
        let place = record.registers["rip"] ?? 0
        return place == 0 && record.isCutOff ? [] : [place]
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): bits that follow from a seed.
///
/// The first ones begin with the number of the fault, if there is one, so that the ids of one millisecond sort as the faults came.
struct RecordGenerator: RandomNumberGenerator {
    private var state: UInt64
    private var number: UInt64?

    init(number: Int? = nil, seed: UInt64) {
        self.number = number.map { UInt64(truncatingIfNeeded: $0) }
        state = seed
    }

    mutating func next() -> UInt64 {
        let bits = nextBits()
        guard let number else { return bits }
        self.number = nil
        return number << 40 | bits >> 24
    }

    private mutating func nextBits() -> UInt64 {
        state &+= 0x9e37_79b9_7f4a_7c15
        var bits = state
        bits = (bits ^ (bits >> 30)) &* 0xbf58_476d_1ce4_e5b9
        bits = (bits ^ (bits >> 27)) &* 0x94d0_49bb_1331_11eb
        return bits ^ (bits >> 31)
    }
}
