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
        self.init(process: process, namesFunctions: namesFunctions, files: SymbolFiles(.standard, budget: .agent))
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
        var runtimeFailure: String?
        let frames = frames(of: record, runtimeFailure: &runtimeFailure)
        let (fault, reason) = fault(of: record, runtimeFailure: runtimeFailure)
        let time = time(of: record)
        var report = CrashReport(
            id: id(of: record),
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
            otherThreads: otherThreads(of: record),
            threadsOmitted: record.threads?.omitted ?? 0,
            context: context(of: record),
            images: images,
            verdict: verdict(of: record),
            recovery: recovery(of: record),
            notes: notes + self.notes(on: record) + contextNotes(on: record)
        )
        report.explain()
        return report
    }

    /// The same for the same fault, so that a report that is made twice (because the process ended between writing it and
    /// releasing its record) is one file.
    private func id(of record: FaultRecord) -> ReportID {
        var generator = RecordGenerator(
            number: record.number,
            seed: UInt64(truncatingIfNeeded: pid(of: record)) << 32 ^ UInt64(truncatingIfNeeded: record.number)
                ^ UInt64(bitPattern: process.startTime.microsecondsSinceEpoch) << 16
                // Both are counted from 1, and the fault may come in the millisecond in which the stall began.
                ^ (record.isOfStall ? 1 << 63 : 0)
        )
        return ReportID(time: time(of: record), using: &generator)
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

    private func frames(of record: FaultRecord, runtimeFailure: inout String?) -> [CrashReport.Frame] {
        frames(
            at: record.frames.isEmpty ? place(of: record) : record.frames,
            headCount: record.headFrameCount,
            omitted: record.framesOmitted,
            runtimeFailure: &runtimeFailure
        )
    }

    /// The frames behind program counters, of which `omitted` are left out behind the first `headCount`.
    func frames(
        at addresses: [UInt64],
        headCount: Int,
        omitted: Int,
        runtimeFailure: inout String?
    ) -> [CrashReport.Frame] {
        var frames: [CrashReport.Frame] = []
        var wasInterrupted = true
        for (position, address) in addresses.enumerated() {
            let isReturnAddress = !wasInterrupted
            wasInterrupted = symbolicator.isSignalReturn(address)
            let gap = position >= headCount && position > 0 ? omitted : 0
            let image = images.firstIndex { address >= $0.base.rawValue && address < $0.end.rawValue }
            let symbols = symbolicator.symbolicate(address: address, isReturnAddress: isReturnAddress)
            if position == 0, let failure = symbols.first(where: \.isRuntimeFailure)?.function {
                runtimeFailure =
                    failure.hasPrefix(SymbolicatedFrame.runtimeFailurePrefix)
                    ? String(failure.dropFirst(SymbolicatedFrame.runtimeFailurePrefix.count)) : failure
            }
            for symbol in symbols.isEmpty ? [SymbolicatedFrame.unknown] : symbols {
                frames.append(
                    CrashReport.Frame(
                        symbol,
                        index: frames.count + gap,
                        address: HexAddress(address),
                        kind: isReturnAddress ? .returnAddress : .programCounter,
                        image: image,
                        of: images
                    )
                )
            }
        }
        return frames
    }

    /// Without a walk there is at least the place itself; in a record that was cut off, a zero is none.
    private func place(of record: FaultRecord) -> [UInt64] {
        let place = record.registers["rip"] ?? 0
        // Of a stall, nothing is known but the frames that were seen.
        if record.isOfStall { return [] }
        return place == 0 && record.isCutOff ? [] : [place]
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014): bits that follow from a seed.
///
/// The first ones begin with the number of the fault, so that the ids of one millisecond sort as the faults came.
private struct RecordGenerator: RandomNumberGenerator {
    private var state: UInt64
    private var number: UInt64?

    init(number: Int, seed: UInt64) {
        self.number = UInt64(truncatingIfNeeded: number)
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
