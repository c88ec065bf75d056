import CrashReports
import FaultInjection
import Holdfast
import Logging
import SystemPackage

/// The report of a fault of this program, as an agent would have it.
@MainActor
enum TypicalReport {
    static func make(in folder: String) throws -> CrashReport {
        var configuration = EventHost.Configuration()
        // Reports are counted, and a busy machine makes stalls.
        configuration.stalls = nil
        configuration.store = FilePath(folder)
        configuration.afterFault = .keepGoing
        configuration.logger.logLevel = .error
        let host = try EventHost(configuration)
        let source = HostRunLoop.Source(label: "a fault", order: 0) { Fault.nilUnwrap.commit() }
        let mode: HostRunLoop.Mode = "benchmark"
        host.loop.add(source, to: mode)
        source.signal()
        _ = host.loop.run(in: mode, for: .zero)
        host.flushReports(within: .seconds(30))
        source.invalidate()
        host.close()
        guard let report = try ReportStore(path: FilePath(folder)).last() else {
            throw MeasurementError("the fault has no report")
        }
        return report
    }
}
