import Foundation
import SystemPackage
import Testing

@testable import CrashReports
@testable import ReportExports

/// The page, without a browser.
@Suite(.timeLimit(.minutes(10))) struct HTMLTests {
    @Test func `A page is well-formed, and the same for the same reports`() throws {
        let reports = RichStore.reports()
        let page = Pages.html(reports)
        #expect(page == Pages.html(reports.reversed()))
        #expect(page.hasPrefix("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">"))
        // Void elements have no end, all others have.
        let open = page.matches(of: /<([a-z][a-z0-9]*)( [^>]*)?>/).filter { $0.0.last(where: { $0 != ">" }) != "/" }
            .map { String($0.1) }.filter { !["meta", "input", "wbr"].contains($0) }
        let closed = page.matches(of: /<\/([a-z][a-z0-9]*)>/).map { String($0.1) }
        #expect(open.sorted() == closed.sorted())
    }

    @Test func `A page says what a report says`() throws {
        let page = Pages.html([RichReport.report()])
        for part in [
            "A null pointer was written through", "Router.swift:88: what can be nil there", "Router.route(for:)",
            "Router.swift:88:40", "routing table is empty, keeping the old one", "-310.0 ms", "resolver", "in futex",
            "mx2.example.org", "46.1 MiB resident", "118 of 1024", "f2ca1bb6c7e9", "0x00005581c2a41b7d", "48 8b 47 08",
            "68220ae2c65d65c1b6aaa12fa6765a6ec2f5f434", "2 threads were not looked at", "up 1692",
            "3 library frames in mail-agent, libc.so.6", "1200 earlier ones are gone", "open files 1024",
            "v2-0c6d1f2e3a4b5c6d",
        ] {
            #expect(page.contains(part), "\(part)")
        }
    }

    @Test func `A hostile report leaves no markup and no control in a page`() throws {
        let page = Pages.html([try HostileReports.fault()])
        #expect(page.matches(of: /<script/).count == 1)
        #expect(!page.contains("<img"))
        #expect(!page.contains("\" onload=\""))
        for scalar in page.unicodeScalars where scalar != "\n" {
            #expect(![.control, .format, .lineSeparator].contains(scalar.properties.generalCategory))
        }
        // Its texts are of 24,000 characters each, and there are 100 of them.
        #expect(page.utf8.count < 600_000)
    }

    @Test func `A page of many reports is bounded`() throws {
        let first = RichReport.report()
        let summaries = (0..<20_000).map { number in
            var report = first
            report.id = ReportID(time: first.timestamp.adding(seconds: Double(number)))
            report.timestamp = first.timestamp.adding(seconds: Double(number))
            report.fingerprint = Fingerprint(rawValue: "v2-\(number % 700)")
            report.process.pid = number % 300
            return ReportSummary(report, in: ReportStore(path: "/"))
        }
        var reads = 0
        let page = HTMLReportPage(summaries, origin: "/").html { id in
            reads += 1
            var report = first
            report.id = id
            return report
        }
        #expect(reads == 150)
        #expect(page.matches(of: /<details class="report"/).count == 150)
        #expect(page.matches(of: /<article/).count == 200)
        #expect(page.contains("500 more causes not shown"))
        #expect(page.contains("288 older processes not drawn"))
        #expect(page.utf8.count < 5 << 20)
    }

    /// A report as large as those of a real agent: deep stacks, many threads, many libraries.
    private func largeReport(_ number: Int, group: Int) -> CrashReport {
        var report = RichReport.report()
        report.timestamp = report.timestamp.adding(seconds: Double(number) * 60)
        report.id = ReportID(time: report.timestamp)
        report.fingerprint = Fingerprint(rawValue: "v2-\(String(group, radix: 16))")
        report.process.pid = number
        let frames = (0..<40).map { index in
            var frame = report.thread.frames[index % report.thread.frames.count]
            frame.index = index
            return frame
        }
        report.thread.frames = frames
        report.otherThreads = (0..<30).map { id in
            var thread = report.otherThreads[id % report.otherThreads.count]
            (thread.id, thread.frames) = (id, frames)
            return thread
        }
        report.images = (0..<60).map { _ in report.images[0] }
        return report
    }

    @Test(arguments: [1, 3, 40, 300]) func `Three hundred reports take less than two megabytes`(groups: Int) {
        let reports = (0..<300).map { largeReport($0, group: $0 % groups) }
        let page = Pages.html(reports)
        #expect(page.utf8.count < 2_000_000)
        // Small is not empty: of each cause that is shown, as many as there is room for are there in full.
        #expect(page.matches(of: /<details class="report"/).count >= min(groups, 40))
        let shown = min(groups, 200)
        #expect(page.matches(of: /<article/).count == shown)
        // One alone is whole.
        #expect(Pages.html([largeReport(1, group: 1)]).contains("32 other threads") || groups > 1)
    }

    @Test func `The worst cause comes first, and all are folded`() throws {
        func report(
            _ group: Int,
            _ decision: CrashReport.Verdict.Decision,
            hours: Double,
            count: Int = 1
        ) -> CrashReport {
            var report = RichReport.report()
            report.timestamp = report.timestamp.adding(seconds: hours * 3600)
            report.id = ReportID(time: report.timestamp)
            report.fingerprint = Fingerprint(rawValue: "v2-\(group)")
            report.reason = "reason \(group)"
            report.verdict.decision = decision
            report.occurrences = .init(count: count, first: report.timestamp, last: report.timestamp)
            return report
        }
        let reports = [
            report(1, .resume, hours: 0, count: 7), report(2, .resume, hours: 1, count: 900),
            report(3, .restart, hours: 2), report(4, .terminate, hours: 3), report(5, .resume, hours: 90),
            report(6, .restart, hours: 91), report(1, .resume, hours: 92),
        ]
        let page = Pages.html(reports)
        let order = page.matches(of: /<h3>reason ([0-9])<\/h3>/).map { String($0.1) }
        #expect(order == ["4", "6", "3", "5", "2", "1"])
        #expect(page.matches(of: /<details open[^>]*><summary><div class="head">/).isEmpty)
        #expect(page.matches(of: /<details><summary><div class="head">/).count == 6)
        #expect(page.matches(of: /<span class="chip new">new/).count == 2)
    }

    @Test func `A process is drawn from its start, and on if it went on`() throws {
        func report(_ pid: Int, _ decision: CrashReport.Verdict.Decision, hours: Double) -> CrashReport {
            var report = RichReport.report()
            report.timestamp = report.timestamp.adding(seconds: hours * 3600)
            report.id = ReportID(time: report.timestamp)
            report.process.pid = pid
            report.process.startTime = report.timestamp.adding(seconds: -7200)
            report.verdict.decision = decision
            report.occurrences = .init(count: 1, first: report.timestamp, last: report.timestamp)
            return report
        }
        let page = Pages.html([
            report(1, .terminate, hours: 0), report(2, .terminate, hours: 5), report(3, .resume, hours: 10),
        ])
        let lives = page.matches(of: /<line class="life" x1="([0-9.]+)" x2="([0-9.]+)" y1="[0-9.]+" y2/).dropFirst()
        // The first began before the chart does; two hours of ten are a fifth of its width.
        let lengths = lives.map { (Double($0.2) ?? 0) - (Double($0.1) ?? 0) }
        #expect(lengths.count == 2 + 1 && lengths.dropLast().allSatisfy { (140...170).contains($0) }, "\(lengths)")
        #expect(page.matches(of: /<line class="life since" x1="[0-9.]+" x2="986"/).count == 1)
    }

    @Test func `A name may be broken behind what separates its parts, and nowhere else`() {
        var html = HTMLText()
        html.name("closure #1 in Router<Message>.route(for:after:)")
        #expect(html.html == "closure #1 in Router&lt;<wbr>Message&gt;<wbr>.route(<wbr>for:<wbr>after:<wbr>)")
        html = HTMLText()
        html.name("main.swift:12")
        #expect(html.html == "main.swift:12")
    }

    @Test func `A deep recursion is told by its head, its length and its tail`() throws {
        let report = try #require(RichStore.reports().first { $0.reason == "stack overflow" })
        let page = Pages.html([report])
        // Those that are left out of the report, too.
        #expect(page.contains("20458 more calls of the same"))
        #expect(page.matches(of: /MIMEPart\.parse\(depth:\)/).count < 12)
    }

    @Test func `Numbers at the limits are shown`() throws {
        var report = RichReport.report()
        for number in [Int.max, .min, -1] {
            report.occurrences.count = number
            report.occurrences.last = Timestamp(microsecondsSinceEpoch: Int64(number))
            report.process.uptimeSeconds = Double(number) * 1e300
            report.process.restarts = number
            report.thread.frames[1].index = number
            report.thread.frames[2].line = number
            report.threadsOmitted = number
            report.context?.breadcrumbsLost = number
            report.context?.memory?.resident = number
            report.context?.load = [.infinity, .nan, Double(number)]
            report.context?.breadcrumbs[0].time = Timestamp(microsecondsSinceEpoch: Int64(number))
            report.otherThreads[0].sampledAfter = .nan
            #expect(Pages.html([report]).hasSuffix("</html>\n"))
        }
    }

    @Test func `A store without reports is a page as well`() {
        #expect(Pages.html([]).contains("nothing has crashed"))
    }
}

/// Pages of reports that are at hand.
enum Pages {
    static func html(_ reports: [CrashReport]) -> String {
        let byID = Dictionary(reports.map { ($0.id, $0) }) { first, _ in first }
        let summaries = reports.map { ReportSummary($0, in: ReportStore(path: "/")) }
        let page = HTMLReportPage(
            summaries,
            origin: "/var/lib/mail-agent",
            created: Timestamp(seconds: 1_795_262_400),
            limits: .init(),
            nonce: "test"
        )
        return page.html { byID[$0] }
    }
}
