package import CrashReports
internal import LinuxSystem
internal import ReportText

/// A store as one page of HTML that needs nothing else: no other file, no network, no script to be read.
///
/// The page has a timeline, groups of faults with the same cause, and the newest reports of each group in full. Reports
/// are taken for the work of an enemy: all text is escaped, and the policy in the page lets nothing run but the script
/// of this library, and lets nothing be loaded.
package struct HTMLReportPage: Sendable {
    /// How much goes into a page.
    package struct Limits: Sendable, Hashable {
        /// Groups that are shown, the worst first; the others are only counted.
        package var groups = 200
        /// The newest reports of a group that are shown in full.
        package var reportsPerGroup = 3
        /// Reports in full on the whole page.
        package var reports = 150
        /// Reports of a group that are listed, those in full included.
        package var rowsPerGroup = 50
        /// Bytes of reports in full: those that would be more are shown without what takes most room, and then only listed.
        package var bytes = 1_300_000

        /// Makes the limits that keep a page of some hundred reports below two megabytes.
        package init() {}
    }

    let entries: [Entry]
    let groups: [Group]
    /// From the first to the last of all that is known; nil without anything.
    let times: ClosedRange<Timestamp>?
    let created: Timestamp
    let origin: String
    let limits: Limits
    /// Whose clocks the times are those of.
    let zone: DisplayZone
    /// What the script and the style of this page are known by, and nothing else in it can know.
    let nonce: String

    /// Takes what a store has.
    ///
    /// - Parameters:
    ///   - summaries: The reports, in any order.
    ///   - origin: Where they are from, such as the path of the store.
    ///   - created: When the page was made.
    ///   - limits: How much goes into the page.
    ///   - zone: In which time zone people are shown times.
    ///   - nonce: What the script and the style of the page are known by.
    package init(
        _ summaries: [ReportSummary],
        origin: String,
        created: Timestamp = .now,
        limits: Limits = Limits(),
        zone: DisplayZone = .utc,
        nonce: String = HTMLReportPage.randomNonce()
    ) {
        entries = summaries.map { Entry(summary: $0) }.sorted { ($0.time, $0.id.rawValue) > ($1.time, $1.id.rawValue) }
        groups = Group.groups(of: entries)
        times = Self.times(of: entries)
        self.origin = origin
        self.created = created
        self.limits = limits
        self.zone = zone
        self.nonce = nonce
    }

    package static func randomNonce() -> String {
        String(UInt64.random(in: .min ... .max), radix: 16) + String(UInt64.random(in: .min ... .max), radix: 16)
    }

    /// Writes the page.
    ///
    /// - Parameter report: Reads a report; called only for those that are shown in full, and nil leaves one out.
    /// - Returns: The page, in UTF-8 when it is written.
    package func html(report: (ReportID) -> CrashReport?) -> String {
        let shown = Array(groups.prefix(limits.groups))
        let full = fullReports(of: shown, report)
        var html = HTMLText()
        html.markup("<!DOCTYPE html>\n")
        html.element("html", ["lang": "en"]) { html in
            let subject = subject()
            addHead(subject, to: &html)
            html.element("body") { html in
                html.element("a.skip", ["href": "#groups"], text: "Skip to the groups")
                addHeader(subject, to: &html)
                html.element("main") { html in
                    addTimeline(full, to: &html)
                    addTools(to: &html)
                    addGroups(shown, full, to: &html)
                }
                addFooter(to: &html)
                html.element("script", ["nonce": nonce]) { $0.markup(HTMLScript.text) }
            }
        }
        return html.html + "\n"
    }

    /// Reports that are shown in full, as they were read and as they are written.
    struct FullReports {
        var reports: [ReportID: CrashReport] = [:]
        var html: [ReportID: HTMLText] = [:]
    }

    /// The reports in full: the newest of every group first, then the second of every group, as long as there is room.
    private func fullReports(of groups: [Group], _ read: (ReportID) -> CrashReport?) -> FullReports {
        var full = FullReports()
        var left = limits.bytes
        // One cause must not take the room of all others.
        let share = max(limits.bytes / max(1, groups.count), 4096) * 2
        for place in 0..<max(0, limits.reportsPerGroup) {
            for group in groups where full.reports.count < limits.reports && place < group.entries.count && left > 0 {
                let id = group.entries[place].id
                guard let report = read(id) else { continue }
                // The newest is open as soon as its group is.
                let isOpen = !group.entries.prefix(place).contains { full.html[$0.id] != nil }
                var html = HTMLText()
                addReport(report, isOpen: isOpen, to: &html)
                if html.html.utf8.count > min(left, share) {
                    html = HTMLText()
                    addReport(report, isOpen: isOpen, isWhole: false, to: &html)
                }
                guard html.html.utf8.count <= left else { continue }
                left -= html.html.utf8.count
                full.reports[id] = report
                full.html[id] = html
            }
        }
        return full
    }

    /// From the first to the last of all that is known; nil without anything.
    static func times(of entries: [Entry]) -> ClosedRange<Timestamp>? {
        guard let first = entries.map(\.time).min(), let last = entries.map(\.last).max() else { return nil }
        return first...max(first, last)
    }

    private func addHead(_ subject: String, to html: inout HTMLText) {
        let policy = [
            "default-src 'none'", "style-src 'nonce-\(nonce)'", "script-src 'nonce-\(nonce)'", "base-uri 'none'",
            "form-action 'none'",
        ]
        html.element("head") { html in
            html.open("meta", ["charset": "utf-8"])
            html.open("meta", ["http-equiv": "Content-Security-Policy", "content": policy.joined(separator: "; ")])
            html.open("meta", ["name": "viewport", "content": "width=device-width, initial-scale=1"])
            html.open("meta", ["name": "color-scheme", "content": "light dark"])
            html.open("meta", ["name": "referrer", "content": "no-referrer"])
            html.open("meta", ["name": "robots", "content": "noindex"])
            html.open("meta", ["name": "generator", "content": "Holdfast \(HoldfastVersion.current)"])
            html.element("title", text: "Crash reports: \(subject)", limit: 120)
            html.element("style", ["nonce": nonce]) { html in
                for part in [HTMLStyle.colors, HTMLStyle.layout, HTMLStyle.report, HTMLStyle.stall] {
                    html.markup(part)
                }
            }
        }
    }

    /// Which programs on which hosts it is about.
    private func subject() -> String {
        guard !entries.isEmpty else { return "none" }
        func names(_ names: Set<String>, _ word: String) -> String {
            names.count > 2 ? Count.of(names.count, word) : names.sorted().joined(separator: " and ")
        }
        let hosts = names(Set(entries.map(\.host)), "host")
        return names(Set(entries.map(\.process)), "program") + (hosts.isEmpty ? "" : " on \(hosts)")
    }

    /// What it is about, in a few figures.
    private func addHeader(_ subject: String, to html: inout HTMLText) {
        html.element("header.top") { html in
            html.markup(Self.mark)
            html.element("div.title") { html in
                html.element("h1", text: "Crash reports")
                html.element("p.subject") { html in
                    html.text(subject, limit: 300)
                    if let span { html.text(" · \(span)") }
                }
            }
        }
        guard !entries.isEmpty else { return }
        html.element("section.figures", ["aria-label": "In short"]) { html in
            // Stalls have a figure of their own, by their verdict.
            let (wanted, unwanted) = (entries.filter(\.isWanted), entries.filter { !$0.isWanted })
            let total = unwanted.filter { $0.kind != .stall }.reduce(0) { $0 + $1.count }
            if total > 0 { figure(String(total), total == 1 ? "fault" : "faults", to: &html) }
            figure(String(groups.count), groups.count == 1 ? "cause" : "causes", to: &html)
            for (decision, count) in Self.decisions(of: unwanted) {
                figure(String(count), HTMLWords.outcome(decision), HTMLWords.style(decision), to: &html)
            }
            let stopped = wanted.reduce(0) { $0 + $1.count }
            if stopped > 0 { figure(String(stopped), "ended on purpose", to: &html) }
            let quarantined = entries.filter(\.isQuarantined).count
            if quarantined > 0 { figure(String(quarantined), "quarantined", to: &html) }
        }
    }

    private func figure(_ number: String, _ words: String, _ style: String = "plain", to html: inout HTMLText) {
        html.element("div", ["class": "figure \(style)"]) { html in
            html.element("b", text: number)
            html.element("span", text: words, limit: 40)
        }
    }

    /// From the first to the last fault.
    private var span: String? {
        guard let begin = entries.map(\.time).min(), let end = entries.map(\.last).max() else { return nil }
        let (first, last) = (zone.civil(begin), zone.civil(end))
        guard first.brief.prefix(16) != last.brief.prefix(16) else { return zone.stamp(begin) }
        let sameDay = first.brief.prefix(10) == last.brief.prefix(10)
        let ending = (sameDay ? HTMLWords.clock(last) : last.brief).dropLast(3)
        return "\(first.brief.dropLast(3)) to \(ending) \(zone.name(at: end))"
    }

    /// A kelp on its rock, in a storm.
    private static let mark: StaticString = """
        <svg class="mark" viewBox="0 0 40 40" width="40" height="40" aria-hidden="true" focusable="false">\
        <rect width="40" height="40" rx="9" class="mark-ground"/>\
        <path class="mark-kelp" d="M17 30c-5-6 5-9 0-15 0-4 3-6 5-8M23 30c5-5-3-8 1-13 2-2 4-3 5-6M19 30c-5-3-9-5-8-11"/>\
        <path class="mark-rock" d="M7 34c2-5 7-6 13-6s11 1 13 6z"/></svg>
        """

    private func addFooter(to html: inout HTMLText) {
        html.element("footer") { html in
            html.element("p") { html in
                html.text("Made by Holdfast \(HoldfastVersion.current) at \(zone.stamp(created)) from ")
                html.element("code", text: origin, limit: 300)
                html.text(zone == .utc ? ". All times are UTC." : ". All times are those of the machine's time zone.")
            }
        }
    }
}
