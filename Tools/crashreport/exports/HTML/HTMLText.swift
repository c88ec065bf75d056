internal import CrashReports

/// HTML, built piece by piece.
///
/// Tags, names of attributes and classes come from this library; every other text is escaped on its way in, so nothing
/// in a report becomes markup. Characters that would turn the text around or hide in it are made visible.
struct HTMLText {
    /// What was written so far.
    private(set) var html = ""

    /// The longest text that is shown, in characters, where nothing else is said.
    static let longestText = 2000

    /// Writes an element with what is in it; `p.note` is an element `p` of the class `note`.
    mutating func element(
        _ tag: StaticString,
        _ attributes: KeyValuePairs<StaticString, String?> = [:],
        _ content: (inout HTMLText) -> Void = { _ in }
    ) {
        open(tag, attributes)
        content(&self)
        html += "</\("\(tag)".prefix { $0 != "." })>"
    }

    /// Writes an element with a text in it.
    mutating func element(
        _ tag: StaticString,
        _ attributes: KeyValuePairs<StaticString, String?> = [:],
        text: String,
        limit: Int = longestText
    ) {
        element(tag, attributes) { $0.text(text, limit: limit) }
    }

    /// Writes the start of an element; all there is of one that holds nothing.
    mutating func open(_ tag: StaticString, _ attributes: KeyValuePairs<StaticString, String?> = [:]) {
        let parts = "\(tag)".split(separator: ".", maxSplits: 1)
        html += "<\(parts[0])"
        if parts.count > 1 { html += " class=\"\(parts[1])\"" }
        for case (let name, let value?) in attributes { html += " \(name)=\"\(Self.escaped(value))\"" }
        html += ">"
    }

    /// Writes a part that is unfolded when somebody wants it.
    mutating func fold(_ title: String, open: Bool = false, _ content: (inout HTMLText) -> Void) {
        element("details.fold", ["open": open ? "" : nil]) { html in
            html.element("summary") { $0.element("h5", text: title) }
            content(&html)
        }
    }

    /// Writes a part that may be wider than the page; who cannot see it is told its name.
    mutating func scroll(_ name: String, _ tag: StaticString = "div.scroll", _ content: (inout HTMLText) -> Void) {
        element(tag, ["tabindex": "0", "role": "group", "aria-label": name], content)
    }

    /// Writes text.
    mutating func text(_ text: String, limit: Int = longestText) { html += Self.escaped(text.limited(to: limit)) }

    /// Writes a name, which a browser may break behind what separates its parts, and not within them.
    mutating func name(_ name: String, limit: Int = longestText) {
        let escaped = Self.escaped(name.limited(to: limit))
        // Shorter ones fit on any line.
        guard escaped.utf8.count > Self.unbroken else {
            html += escaped
            return
        }
        var isEntity = false
        var length = 0
        for scalar in escaped.unicodeScalars {
            html.unicodeScalars.append(scalar)
            length += 1
            if scalar == "&" { isEntity = true }
            let isEnd = isEntity && scalar == ";"
            if isEnd { isEntity = false }
            // An entity stands for one character: a bracket or a quotation mark, which parts names, too.
            guard !isEntity, length > 3, isEnd || Self.separators.contains(scalar) else { continue }
            html += "<wbr>"
            length = 0
        }
    }

    private static let separators = Set(".,:(_/+-@$".unicodeScalars)
    private static let unbroken = 24

    /// Writes text of several lines, for an element that keeps them apart.
    mutating func lines(_ text: String, limit: Int = longestText) {
        let lines = text.limited(to: limit).split(omittingEmptySubsequences: false, whereSeparator: \.isNewline)
        html += lines.map { Self.escaped(String($0)) }.joined(separator: "\n")
    }

    /// Writes markup of this library, which never holds anything of a report.
    mutating func markup(_ markup: StaticString) { html += "\(markup)" }

    /// Writes what was built elsewhere.
    mutating func append(_ other: HTMLText) { html += other.html }

    /// Escapes what is markup in text or in the value of an attribute, and makes controls visible.
    static func escaped(_ text: String) -> String {
        let visible = TerminalText.visible(text)
        guard visible.utf8.contains(where: { special.contains($0) }) else { return visible }
        var result = ""
        for scalar in visible.unicodeScalars {
            switch scalar {
            case "&": result += "&amp;"
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "\"": result += "&quot;"
            case "'": result += "&#39;"
            default: result.unicodeScalars.append(scalar)
            }
        }
        return result
    }

    private static let special = Set("&<>\"'".utf8)
}
