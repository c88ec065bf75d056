import ArgumentParser
import CrashReports
import LinuxSystem
import ReportText
import SystemPackage

/// One report, by whatever a user has at hand.
struct ReportSelection: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            """
            The first digits of a report's identifier, the start of a fingerprint for the newest report of its group, \
            "last", or the path of a report's file.
            """,
            valueName: "id"
        ),
        completion: .custom(Completions.reports)
    )
    var id: String
}

/// What a user typed to name a report.
struct ReportReference {
    /// What names the newest report that can be read.
    private static let last = "last"

    private let text: String

    /// Takes the name, and the time zone in which reports are told that could have been meant.
    init(_ text: String) {
        self.text = text
    }

    /// What the store knows of the report's group; nil for a file that is in no store, and where the store cannot be read.
    func history(of report: CrashReport, _ options: StoreOptions) -> ReportHistory? {
        guard !isPath, let store = try? options.open() else { return nil }
        var filter = ReportFilter()
        filter.fingerprint = report.fingerprint.rawValue
        return (try? store.summaries(matching: filter)).flatMap { ReportHistory(of: report, in: $0.summaries) }
    }

    /// Whether it is the path of a file: nothing else that names a report has a slash or a point in it.
    var isPath: Bool { text.contains("/") || text.hasSuffix(".json") }

    /// Reads the report; what is wrong is said, and the exit status thrown.
    func load(_ options: StoreOptions) throws -> CrashReport {
        if isPath { return try loadFile() }
        let store = try options.openFinished()
        if text == Self.last { return try newest(in: store) }
        let report = try store.load(try identify(in: store))
        let wanted = text.lowercased()
        if let other = report.occurrences.others?.first(where: { $0.id.rawValue.hasPrefix(wanted) }),
            !report.id.rawValue.hasPrefix(wanted)
        {
            let tags = other.tags.sorted { $0.key < $1.key }.map { ", \($0.key)=\($0.value)" }.joined()
            Output.complain("\(other.id) was counted in this report of an equal fault: \(other.time)\(tags)")
        }
        return report
    }

    /// Reads the bytes of the report's file, whatever they are; what is wrong is said, and the exit status thrown.
    func bytes(_ options: StoreOptions) throws -> [UInt8] {
        if isPath { return try fileBytes() }
        let store = try options.openFinished()
        return try store.bytes(of: try identify(in: store))
    }

    /// The path of the report's file; what is wrong is said, and the exit status thrown.
    func path(_ options: StoreOptions) throws -> FilePath {
        if isPath { return FilePath(text) }
        let store = try options.openFinished()
        return store.path(of: try identify(in: store))
    }

    /// Finds out which report of the store is meant.
    private func identify(in store: ReportStore) throws -> ReportID {
        if text == Self.last {
            do {
                return try newest(in: store).id
            } catch is ReportStoreError {
                // Where none can be read, the newest file is what there is.
                guard let file = try store.reportFiles().first else { throw ExitStatus.noReports(in: store) }
                return file.id
            }
        }
        // Identifiers are hexadecimal digits: none begins with a v.
        if text.lowercased().hasPrefix("v") {
            var filter = ReportFilter()
            filter.fingerprint = text
            if let found = try store.summaries(matching: filter, limit: 1).summaries.first { return found.id }
        }
        return try store.identify(prefix: text)
    }

    /// Reads the newest report that can be read; what is newer and cannot is said in one line.
    private func newest(in store: ReportStore) throws -> CrashReport {
        guard let (report, problems) = try store.newest() else { throw ExitStatus.noReports(in: store) }
        if let first = problems.first {
            let older = problems.count - 1
            let more = older == 0 ? "" : ", and \(older) older file\(older == 1 ? "" : "s") cannot be read"
            Output.complain("\(first)\(more); the newest that can be read is taken")
        }
        return report
    }

    /// Reads a file that need not be in a store, such as one that came with a mail.
    private func loadFile() throws -> CrashReport {
        do {
            return try CrashReport(json: try fileBytes())
        } catch let error as ReportFormatError {
            Output.complain("\(text) is not a readable report (\(error.description))")
            throw ExitStatus.damaged
        }
    }

    private func fileBytes() throws -> [UInt8] {
        do {
            let file = try OwnedDescriptor(reading: FilePath(text), followingLinks: true)
            guard try FileStatus(of: file).kind == .regular else {
                Output.complain("\(text) is no file: name a report, or the directory of a store with --store")
                throw ExitStatus.noSuchReport
            }
            let bytes = try file.readAll(limit: ReportStore.maximumReportBytes)
            guard bytes.count <= ReportStore.maximumReportBytes else {
                Output.complain("\(text) is larger than a report can be")
                throw ExitStatus.damaged
            }
            return bytes
        } catch let error as Errno {
            Output.complain("cannot read \(text): \(error)")
            throw error == .noSuchFileOrDirectory ? ExitStatus.noSuchReport : ExitStatus.damaged
        }
    }
}
