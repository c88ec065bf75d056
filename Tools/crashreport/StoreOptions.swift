import ArgumentParser
import CrashReports
import FoundationEssentials
import SystemPackage

/// Which store to read.
struct StoreOptions: ParsableArguments {
    @Option(help: ArgumentHelp("The directory of the reports.", valueName: "dir"))
    var store: String?

    func validate() throws {
        if store == "" { throw ValidationError("The directory of the reports must not be empty.") }
    }

    /// The store that the options and the environment name.
    func open() throws(ReportStoreError) -> ReportStore {
        if let store { return ReportStore(path: FilePath(store)) }
        return ReportStore(path: try ReportStore.defaultPath(environment: ProcessInfo.processInfo.environment))
    }
}
