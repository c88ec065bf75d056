/// Which rows are wanted.
struct RowFilter {
    private let pattern: String?

    /// - Parameter pattern: A part of the names, or a regular expression that finds one; `nil` for all rows.
    init(_ pattern: String?) {
        self.pattern = pattern?.lowercased()
    }

    func wants(_ name: String) -> Bool {
        guard let pattern else { return true }
        let name = name.lowercased()
        if name.contains(pattern) { return true }
        guard let expression = try? Regex(pattern) else { return false }
        return name.contains(expression)
    }
}
