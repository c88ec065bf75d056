import Foundation
import ReportTestSupport
import TestSupport
import Testing

@testable import CrashReports
@testable import ReportExports

/// The page in headless Chromium, light and dark, with and without scripts, on screen and on paper.
@Suite(.timeLimit(.minutes(10))) struct BrowserTests {
    private let folder: TemporaryFolder

    init() throws {
        folder = try TemporaryFolder()
    }

    /// Debian's names of it.
    private static func chromium() throws -> String {
        let names = ["chromium-headless-shell", "chromium"].map { "/usr/bin/\($0)" }
        guard let path = names.first(where: FileManager.default.isExecutableFile) else {
            throw HarnessError("there is no Chromium: run Tools/install --tests")
        }
        return path
    }

    private func look(at html: String) throws -> Seen {
        let file = try folder.write(html, to: "page.html")
        // Whoever wants to see it for themselves names a folder for pictures.
        let pictures = ProcessInfo.processInfo.environment["HOLDFAST_PICTURES"].map { [$0] } ?? []
        return Seen(try PythonScript.run("look-at-page.py", [try Self.chromium(), file] + pictures))
    }

    /// What holds for every page, however hostile.
    private func expectSound(_ seen: Seen) throws {
        for scheme in ["light", "dark"] {
            let page = seen[scheme]
            #expect(page["requests"].strings?.count == 1, "the page alone is loaded")
            #expect(page["complaints"].strings == [])
            #expect(page["overflow"].integer == 0, "nothing is wider than a telephone")
            #expect(page["broken"].strings == [], "no name is broken inside")
            let structure = page["structure"]
            #expect(structure["scripts"].integer == 1)
            #expect(structure["foreign"].integer == 0)
            #expect(structure["addresses"].strings == [])
            #expect(structure["injected"].string == "undefined")
            #expect(structure["language"].string == "en")
            #expect(structure["mainHeadings"].integer == 1)
            #expect(structure["skipped"].integer == 0, "no level of headings is left out")
            for missing in ["namelessLinks", "namelessFields", "deadLinks"] {
                #expect(structure[missing].integer == 0, "\(missing)")
            }
            #expect(page["contrast"]["found"].strings == [], "WCAG 2.2, AA")
        }
        #expect(seen["plain"]["complaints"].strings == [])
        #expect(seen["plain"]["printedStacks"].integer == seen["plain"]["allStacks"].integer)
        // What looks for mistakes finds them where there are some.
        let proof = seen["proof"]
        #expect(proof["faint"].strings?.count == 1)
        #expect(proof["requests"].strings == ["http://127.0.0.1:9/x"])
        #expect(proof["complaints"].strings?.count == 1)
        #expect(try #require(proof["overflow"].integer) > 0)
    }

    @Test func `A page with stalls is whole, readable and quiet, and so is a hostile one`() throws {
        let stalls = [try Fixture.report("v1-stall.json"), try Fixture.report("v1-ping.json")]
        let seen = try look(at: Pages.html(RichStore.reports() + stalls))
        try expectSound(seen)
        for scheme in ["light", "dark"] {
            let text = try #require(seen[scheme]["structure"]["text"].string)
            for part in ["4stalled", "Where the time went", "How long 3 stalls took", "How late ticks came"] {
                #expect(text.contains(part), "\(part)")
            }
            #expect(seen[scheme]["groups"].integer == 7)
        }
        try expectSound(try look(at: Pages.html([try HostileReports.stall()])))
    }

    @Test func `The page of a store is whole, readable and quiet`() throws {
        var reports = RichStore.reports()
        for number in reports.indices {
            // Wider than a telephone, without a space in it.
            guard var frame = reports[number].thread.frames.first(where: \.isUserCode) else { continue }
            frame.index = (reports[number].thread.frames.last?.index ?? 0) + 1
            frame.function = "IncomingConnectionHandler.accept(fromListener:withTimeout:andPriority:inFolder:)"
            reports[number].thread.frames.append(frame)
        }
        let seen = try look(at: Pages.html(reports))
        try expectSound(seen)
        for scheme in ["light", "dark"] {
            let page = seen[scheme]
            #expect(page["structure"]["title"].string == "Crash reports: mail-agent and spool-watcher on mx1")
            let text = try #require(page["structure"]["text"].string)
            for part in ["Router.route(for:)", "3614resumed", "A null pointer was written through", "stack overflow"] {
                #expect(text.contains(part), "\(part)")
            }
            #expect(try #require(page["contrast"]["texts"].integer) > 500)
            #expect(page["groups"].integer == 5)
            #expect(page["newest"].bool == true, "a telephone shows what happened last")
            #expect(page["found"].integer == 1)
            #expect(page["status"].string == "1 of 5 causes")
            #expect(page["foundNothing"].integer == 0)
            #expect(page["terminated"].integer == 1)
            #expect(page["isRevealed"].bool == true, "a link unfolds what it leads to")
        }
        #expect(seen["light"]["ground"].string == "rgb(244, 246, 248)")
        #expect(seen["dark"]["ground"].string == "rgb(13, 19, 24)")
        let plain = seen["plain"]
        #expect(plain["tools"].bool == false, "what needs the script is not shown without it")
        #expect(plain["stacks"].integer == 0, "causes are folded")
        #expect(try #require(plain["stacksAfterClick"].integer) > (try #require(plain["stacks"].integer)))
    }

    @Test func `A hostile report is inert`() throws {
        let seen = try look(at: Pages.html([try HostileReports.fault()]))
        try expectSound(seen)
        let text = try #require(seen["light"]["structure"]["text"].string)
        #expect(text.contains("<script>window.injected=1</script>"), "it is shown as the text that it is")
        #expect(text.contains("\\u{202e}desrever"))
    }

    @Test func `A page without reports is sound`() throws {
        try expectSound(try look(at: Pages.html([])))
    }
}
