import Symbolication
import Testing

@testable import CrashReports

/// Which reports are one file.
@Suite struct ReportIdentityTests {
    @Test func `A stall and a fault of the same number in the same instant are two reports`() throws {
        let process = try SpoolContents(bytes: SpoolBytes().bytes).process
        let builder = ReportBuilder(process: process, namesFunctions: false)
        let fault = try #require(FaultRecord(bytes: SpoolBytes.record(number: 1)))
        let stall = CrashReport.Stall(
            number: 1,
            subject: .loop,
            threshold: 0.25,
            begin: fault.time,
            length: 1,
            end: .never
        )
        let sighting = StallSighting(
            stall,
            uptimeNanoseconds: fault.uptimeNanoseconds,
            thread: ThreadSnapshot.Thread(id: fault.thread),
            loop: nil,
            context: nil
        )
        let ofFault = builder.report(of: fault, images: []).id
        let ofStall = builder.report(of: sighting, images: [], notes: []).id
        #expect(ofFault != ofStall)
        #expect(builder.report(of: fault, images: []).id == ofFault, "made twice, it is one file")
        #expect(builder.report(of: sighting, images: [], notes: []).id == ofStall)
    }
}
