import CrashReports
import FaultInjection
import Holdfast
import Logging
import SystemPackage

/// The report of a fault of this program, as an agent would have it.
struct TypicalReport {
    /// The bytes of its file.
    let json: [UInt8]
    private let id: String
    private let fingerprint: String
    private let reason: String

    /// Commits a fault and reads its report.
    @MainActor
    init(in folder: String) throws {
        var configuration = EventHost.Configuration.conservative
        // Reports are counted, and a busy machine makes stalls.
        configuration.stallPolicy = nil
        configuration.store = folder
        configuration.afterResume = .keepServing
        configuration.logger.logLevel = .error
        let host = try EventHost(configuration)
        let source = HostRunLoop.Source(label: "a fault", order: 0) { _ in Fault.nilUnwrap.commit() }
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
        json = try report.json()
        id = report.id.rawValue
        fingerprint = report.fingerprint.rawValue
        reason = report.reason
    }

    /// A report of another fault.
    ///
    /// - Parameters:
    ///   - digits: The 16 digits of its fingerprint.
    ///   - other: Its reason.
    /// - Returns: Its bytes before its identifier, and behind it.
    /// - Throws: `MeasurementError` if the identifier is not there.
    func variant(fingerprint digits: String, reason other: String) throws -> (before: [UInt8], after: [UInt8]) {
        let text = String(decoding: json, as: UTF8.self)
            .replacing(fingerprint, with: fingerprint.dropLast(16) + digits)
            .replacing("\"\(reason)\"", with: "\"\(other)\"")
        let parts = text.split(separator: "\"\(id)\"", maxSplits: 1)
        guard parts.count == 2 else { throw MeasurementError("a report has no identifier") }
        return (Array("\(parts[0])\"".utf8), Array("\"\(parts[1])".utf8))
    }
}
