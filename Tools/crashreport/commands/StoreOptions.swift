import ArgumentParser
import CrashReports
import FoundationEssentials
import Glibc
import LinuxSystem
import Symbolication
import SystemPackage

/// Which store to read.
struct StoreOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The directory of the reports.", valueName: "dir"), completion: .directory)
    var store: String?

    func validate() throws {
        if store == "" { throw ValidationError("The directory of the reports must not be empty.") }
    }

    /// The store, with the reports of what dead processes left behind.
    ///
    /// - Returns: The store.
    /// - Throws: The error of a store, or the exit code if it has no report but some that cannot be written.
    func openFinished() throws -> ReportStore {
        let store = try open()
        let outcome = finish(store)
        if outcome.isIncomplete, (try? store.summaries(limit: 1).summaries.isEmpty) == true {
            throw ExitStatus.cannotChange
        }
        return store
    }

    /// The store, if there is anything; says that there is none, and gives the status for it.
    func openExisting() throws -> ReportStore {
        let store = try open()
        // A folder that somebody made for a store may have none of its folders yet; what is no folder is looked at as a store.
        let isFolder = (try? FileStatus(of: store.path))?.kind == .directory
        let paths = isFolder ? [store.reportsPath, store.spoolPath] : [store.path]
        guard paths.allSatisfy(Self.isMissing) else { return store }
        Output.complain("there is no store at \(store.path)")
        throw ExitStatus.noReports
    }

    private static func isMissing(_ path: FilePath) -> Bool {
        do {
            _ = try FileStatus(of: path)
            return false
        } catch {
            return error == .noSuchFileOrDirectory
        }
    }

    /// Makes the reports of what dead processes left behind.
    @discardableResult
    func finish(_ store: ReportStore) -> SpoolFinisher.Outcome {
        let outcome = Progress.shown("finishing the reports of dead processes") { progress in
            SpoolFinisher(store: store).finish { progress.update(done: $0) }
        }
        // Always: with the file of the spool this is the last that is known of them.
        for end in outcome.silentEnds { Output.complain(end.text) }
        for problem in outcome.problems { Output.complain(problem) }
        return outcome
    }

    /// The store that the options and the environment name.
    func open() throws(ReportStoreError) -> ReportStore {
        if let store { return ReportStore(path: FilePath(store)) }
        return ReportStore(path: try ReportStore.defaultPath(environment: ProcessInfo.processInfo.environment))
    }
}
