import Foundation
import ReportTestSupport

@testable import CrashReports

/// Reports that mean harm to whoever shows them.
enum HostileReports {
    /// Text that means harm, to a page, a terminal, and whoever reads line by line.
    static let text = [
        "</script><script>window.injected=1</script>",
        "</style></title></textarea>--><img src=x onerror=window.injected=1>",
        "\" onload=\"window.injected=1", "' autofocus onfocus='window.injected=1", "javascript:window.injected=1",
        "\u{202e}desrever\u{2066}\u{200d}", "\u{1b}[2J\u{1b}]0;owned\u{7}\u{9b}31m\u{0}",
        "\u{2028}\u{2029}\r\n\nThread 9 Crashed:\n",
        "{{constructor.constructor('window.injected=1')()}}", "]]>&lt;&#x3c;script>",
        String(repeating: "w", count: 20_000),
        String(repeating: "long ", count: 4_000),
    ].joined(separator: " ")

    /// A report of a fault with that in every text that may be anything.
    static func fault() throws -> CrashReport {
        try poisoned(RichReport.report())
    }

    /// The same of a stall.
    static func stall() throws -> CrashReport {
        try poisoned(Fixture.report("v1-stall.json"))
    }

    private static func poisoned(_ report: CrashReport) throws -> CrashReport {
        let object = try JSONSerialization.jsonObject(with: Data(try report.json()))
        return try CrashReport(json: Array(JSONSerialization.data(withJSONObject: poisoned(object, key: ""))))
    }

    /// Times, addresses, digits and identifiers have a form that the reader of reports checks.
    private static let checked: Set = [
        // Of another kind a report would have another section.
        "id", "kind", "timestamp", "first", "last", "startTime", "time", "begin", "address", "imageOffset", "base",
        "end",
        "registers",
    ]

    private static func poisoned(_ value: Any, key: String) -> Any {
        if checked.contains(key), !(value is [Any]) { return value }
        if value is String { return text }
        if let list = value as? [Any] { return list.map { poisoned($0, key: "") } }
        guard let object = value as? [String: Any] else { return value }
        var result: [String: Any] = [:]
        for (name, member) in object {
            let isNames = ["tags", "annotations", "environment", "limits"].contains(key)
            result[isNames ? name + text : name] = poisoned(member, key: name)
        }
        return result
    }
}
