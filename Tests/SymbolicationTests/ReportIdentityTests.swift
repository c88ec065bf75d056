import Symbolication
import Testing

@testable import CrashReports

/// Which reports are one file.
@Suite struct ReportIdentityTests {
    @Test func `A stall and a fault of the same number in the same instant are two reports`() throws {
        let process = try SpoolContents(bytes: SpoolBytes().bytes).process
        let builder = ReportBuilder(process: process, namesFunctions: false)
        let fault = try #require(FaultRecord(bytes: SpoolBytes.record(number: 1)))
        let standing = FaultRecord(
            stall: 1,
            time: fault.time,
            uptimeNanoseconds: fault.uptimeNanoseconds,
            thread: fault.thread,
            isMainThread: true
        )
        let stall = CrashReport.Stall(
            number: 1,
            subject: .loop,
            threshold: 0.25,
            begin: fault.time,
            length: 1,
            end: .never
        )
        let ofFault = builder.report(of: fault, images: []).id
        let ofStall = builder.report(of: stall, standing, images: []).id
        #expect(ofFault != ofStall)
        #expect(builder.report(of: fault, images: []).id == ofFault, "made twice, it is one file")
        #expect(builder.report(of: stall, standing, images: []).id == ofStall)
    }
}
