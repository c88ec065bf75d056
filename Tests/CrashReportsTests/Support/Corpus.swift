import Foundation
import ReportTestSupport

@testable import CrashReports

/// Reports of known bugs, as far as they count for grouping: `Corpus/README.md` says how they were made.
struct Corpus {
    /// One report.
    struct Entry {
        /// The program: functions of two programs have nothing in common.
        let program: String
        /// How it was built.
        let build: String
        /// The bug, by its name in the program.
        let bug: String
        /// How the bug was reached.
        let way: String
        let report: CrashReport

        /// What has to be one group.
        var label: String { "\(program) \(bug)" }
    }

    let entries: [Entry]

    init() throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .appendingPathComponent("Corpus/reports.json")
        let decoded = try JSONDecoder().decode([Compact].self, from: Data(contentsOf: file))
        entries = decoded.map(\.entry)
    }

    /// How the pairs of reports were judged.
    struct Figures: CustomStringConvertible {
        /// Pairs of one bug in one group, and in two.
        var together = 0
        var split = 0
        /// Pairs of two bugs in two groups, and in one.
        var apart = 0
        var merged = 0

        /// The share of pairs in one group that belong there.
        var precision: Double { Double(together) / Double(max(1, together + merged)) }
        /// The share of pairs of one bug that are in one group.
        var recall: Double { Double(together) / Double(max(1, together + split)) }

        var description: String {
            "\(together) | \(split) | \(apart) | \(merged) | \(Self.percent(precision)) | \(Self.percent(recall))"
        }

        /// Rounded down: 100 % is all of them.
        private static func percent(_ share: Double) -> String {
            let tenths = Int(share * 1000)
            return "\(tenths / 10).\(tenths % 10) %"
        }
    }

    /// A number for each value, the same for equal ones.
    private static func numbers(_ values: [some Hashable]) -> [Int] {
        var known: [AnyHashable: Int] = [:]
        return values.map { value in
            let number = known[value] ?? known.count
            known[value] = number
            return number
        }
    }

    /// Judges a rule by all pairs of some reports.
    static func figures(_ entries: [Entry], by key: (CrashReport) -> some Hashable) -> Figures {
        var figures = Figures()
        let keys = numbers(entries.map { key($0.report) })
        let labels = numbers(entries.map(\.label))
        for left in entries.indices {
            for right in left + 1..<entries.count {
                switch (labels[left] == labels[right], keys[left] == keys[right]) {
                case (true, true): figures.together += 1
                case (true, false): figures.split += 1
                case (false, true): figures.merged += 1
                case (false, false): figures.apart += 1
                }
            }
        }
        return figures
    }
}

/// A report without what does not count.
private struct Compact: Decodable {
    struct Frame: Decodable {
        let f: String?
        let l: String?
        let m: String?
        let o: String?
        let s: Int?
        let u: Int?
        let i: Int?
    }

    let program: String
    let build: String
    let bug: String
    let way: String
    let signal: Int
    let code: Int
    let access: String?
    let addressKind: String?
    let address: String?
    let message: String?
    let exception: CrashReport.Fault.Exception?
    let own: Bool?
    let rsp: String?
    let callout: [String]?
    let frames: [Frame]

    var entry: Corpus.Entry {
        var report = SampleReport.minimal(message: message, frames: frames.enumerated().map(Self.frame))
        report.fault?.signal = .signal(signal)
        report.fault?.code = .code(code, ofSignal: signal)
        report.fault?.access = .init(rawValue: access ?? "none")
        report.fault?.addressKind = addressKind.map(CrashReport.Fault.AddressKind.init(rawValue:))
        report.fault?.address = address.flatMap(HexAddress.init(_:))
        report.fault?.exception = exception
        let pid = report.process.pid
        report.fault?.sender = own == true ? .init(pid: pid, uid: 0) : nil
        if let rsp { report.thread.registers["rsp"] = HexAddress(rsp) }
        if let callout, callout.count == 2 {
            let called = CrashReport.LoopState.Callout(kind: .init(rawValue: callout[0]), label: callout[1], item: 1)
            report.loop = .init(mode: "default", activity: "entry", callout: called, nesting: 1, pass: 1)
        }
        return Corpus.Entry(program: program, build: build, bug: bug, way: way, report: report)
    }

    private static func frame(_ index: Int, _ frame: Frame) -> CrashReport.Frame {
        let place = frame.l?.split(separator: ":") ?? []
        return CrashReport.Frame(
            index: index,
            address: HexAddress(0x1000),
            kind: index == 0 ? .programCounter : .returnAddress,
            image: frame.m == "" ? 0 : nil,
            imageName: frame.m == "" ? "program" : frame.m,
            imageOffset: frame.o.flatMap(HexAddress.init(_:)),
            function: frame.f,
            rawName: frame.s == 1 ? "$s" : nil,
            file: place.first.map { "/src/\($0)" },
            line: place.count > 1 ? Int(place[1]) : nil,
            inlined: frame.i == 1,
            isUserCode: frame.u == 1
        )
    }
}
