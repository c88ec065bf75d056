import ArgumentParser
import CrashReports
import FoundationEssentials
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
    func openFinished() throws(ReportStoreError) -> ReportStore {
        let store = try open()
        for problem in SpoolFinisher(store: store).finish().problems { Output.complain(problem) }
        return store
    }

    /// The store that the options and the environment name.
    func open() throws(ReportStoreError) -> ReportStore {
        if let store { return ReportStore(path: FilePath(store)) }
        return ReportStore(path: try ReportStore.defaultPath(environment: ProcessInfo.processInfo.environment))
    }
}
