public import CrashReports
internal import Glibc

/// Makes reports of raw records: names for addresses, words for numbers.
///
/// Keeps what it read of the images' files for the next record. For one thread at a time.
public final class ReportBuilder {
    private let process: SpoolProcess
    private let namesFunctions: Bool
    private var images: [CrashReport.Image] = []
    private var symbolicator = Symbolicator(images: [])

    /// Makes a builder for the records of one process.
    ///
    /// - Parameters:
    ///   - process: The process.
    ///   - namesFunctions: Whether to read the images' files; without, frames have image and offset only.
    public init(process: SpoolProcess, namesFunctions: Bool = true) {
        self.process = process
        self.namesFunctions = namesFunctions
    }

    /// Makes the report of a record.
    ///
    /// - Parameters:
    ///   - record: The record.
    ///   - images: The images of the process at that time.
    ///   - notes: What else the reader should know.
    /// - Returns: A report with a new id, counted once.
    public func report(of record: FaultRecord, images: [CrashReport.Image], notes: [String] = []) -> CrashReport {
        use(images)
        var runtimeFailure: String?
        let frames = frames(of: record, runtimeFailure: &runtimeFailure)
        let fault = fault(of: record, runtimeFailure: runtimeFailure)
        var process = CrashReport.Process(
            name: process.name,
            pid: process.pid,
            parentPid: process.parentPid,
            executable: process.executable,
            arguments: process.arguments,
            startTime: process.startTime,
            uptimeSeconds: record.uptimeSeconds,
            restarts: process.restarts
        )
        process.buildID = images.first?.buildID
        return CrashReport(
            id: id(of: record),
            timestamp: record.time,
            fingerprint: Fingerprint(kind: .fault, signal: fault.signal.name, frames: frames),
            occurrences: CrashReport.Occurrences(count: 1, first: record.time, last: record.time),
            process: process,
            host: self.process.host,
            runtime: self.process.runtime,
            fault: fault,
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
            images: images,
            verdict: verdict(of: record),
            notes: notes + self.notes(on: record)
        )
    }

    /// The same for the same fault, so that a report that is made twice (because the process ended between writing it and
    /// releasing its record) is one file.
    private func id(of record: FaultRecord) -> ReportID {
        var generator = RecordGenerator(
            number: record.number,
            seed: UInt64(truncatingIfNeeded: process.pid) << 32 ^ UInt64(truncatingIfNeeded: record.number)
                ^ UInt64(bitPattern: process.startTime.microsecondsSinceEpoch) << 16
        )
        return ReportID(time: record.time, using: &generator)
    }

    private func use(_ images: [CrashReport.Image]) {
        guard images != self.images else { return }
        self.images = images
        guard namesFunctions else { return }
        symbolicator = Symbolicator(
            images: images.map {
                SymbolImage(path: $0.path, base: $0.base.rawValue, end: $0.end.rawValue, buildID: $0.buildID)
            }
        )
    }

    // MARK: Frames

    private func frames(of record: FaultRecord, runtimeFailure: inout String?) -> [CrashReport.Frame] {
        var frames: [CrashReport.Frame] = []
        // Without a walk there is at least the place itself.
        let addresses = record.frames.isEmpty ? [record.registers["rip"] ?? 0] : record.frames
        for (position, address) in addresses.enumerated() {
            let gap = position >= record.headFrameCount && position > 0 ? record.framesOmitted : 0
            let image = images.firstIndex { address >= $0.base.rawValue && address < $0.end.rawValue }
            let symbols = symbolicator.symbolicate(address: address, isReturnAddress: position > 0)
            if position == 0, let failure = symbols.first(where: \.isRuntimeFailure)?.function {
                runtimeFailure =
                    failure.hasPrefix(Self.failurePrefix)
                    ? String(failure.dropFirst(Self.failurePrefix.count)) : failure
            }
            for symbol in symbols.isEmpty ? [SymbolicatedFrame.unknown] : symbols {
                frames.append(
                    CrashReport.Frame(
                        index: frames.count + gap,
                        address: HexAddress(address),
                        kind: position == 0 ? .programCounter : .returnAddress,
                        image: image,
                        imageName: image.map { images[$0].name },
                        imageOffset: image.map { HexAddress(address - images[$0].base.rawValue) },
                        function: symbol.function,
                        rawName: symbol.rawName,
                        functionOffset: symbol.functionOffset.map { Int(clamping: $0) },
                        file: symbol.file,
                        line: symbol.line,
                        column: symbol.column,
                        inlined: symbol.inlined,
                        isUserCode: image == 0 && UserCode.contains(symbol)
                    )
                )
            }
        }
        return frames
    }

    private static let failurePrefix = "Swift runtime failure: "

    // MARK: Words

    private func fault(of record: FaultRecord, runtimeFailure: String?) -> CrashReport.Fault {
        let place = FaultAddress(record)
        let signal = CInt(clamping: record.signal)
        // The runtime's text is of the last fatal error, which a memory fault is not.
        let says = signal == SIGILL || signal == SIGTRAP || signal == SIGABRT
        let message = record.message.isEmpty ? record.abortMessage : record.message
        let trimmed = message.reversed().drop(while: \.isWhitespace).reversed()
        let text = says && !trimmed.isEmpty ? String(trimmed) : nil
        let sender = record.sender.flatMap { $0.pid == 0 ? nil : $0 }
        let reason = FaultReason(
            signal: record.signal,
            code: record.code,
            address: place.address,
            access: place.access,
            addressKind: place.kind,
            message: text,
            isRuntimeMessage: !record.message.isEmpty,
            runtimeFailure: runtimeFailure,
            sender: sender,
            pid: process.pid
        )
        var fault = CrashReport.Fault(
            number: record.number,
            signal: .signal(record.signal),
            code: .code(record.code, ofSignal: record.signal),
            address: place.address,
            access: place.access,
            message: text,
            reason: reason.text,
            sender: sender
        )
        fault.addressKind = place.kind
        return fault
    }

    private func verdict(of record: FaultRecord) -> CrashReport.Verdict {
        guard let decision = record.verdict else {
            return CrashReport.Verdict(decision: .terminate, reason: "the process ended before a verdict was given")
        }
        if record.facts.contains(.restartFailed) {
            return CrashReport.Verdict(decision: .terminate, reason: "the process could not be restarted in place")
        }
        if record.facts.contains(.deadline) {
            return CrashReport.Verdict(
                decision: decision,
                reason: "no verdict came within the deadline: a lock that the crash thread needs was held"
            )
        }
        let reason = record.verdictReason.isEmpty ? "the fault could not be judged" : record.verdictReason
        return CrashReport.Verdict(decision: decision, reason: reason)
    }

    private func notes(on record: FaultRecord) -> [String] {
        var notes: [String] = []
        switch record.stage {
        case .incomplete: notes.append("the process ended while the record was being written: parts of it are missing")
        case .captured: notes.append("the process ended before the stack was walked: only the innermost frame is known")
        case .decided: break
        }
        if process.faultsLost > 0 {
            notes.append("\(process.faultsLost) more faults of this process found no room for a record")
        }
        return notes
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

extension SymbolicatedFrame {
    fileprivate static let unknown = SymbolicatedFrame(
        rawName: nil,
        functionOffset: nil,
        location: .unknown,
        inlined: false
    )
}
