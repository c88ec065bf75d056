/// Finds what somebody meant to type.
enum Spelling {
    /// The words that are close to a word, the closest first, three at most.
    static func suggestions(for word: String, among words: some Sequence<String>) -> [String] {
        let wanted = word.lowercased()
        // One letter in three may be wrong.
        let limit = max(1, wanted.count / 3)
        let found = words.compactMap { candidate -> (distance: Int, word: String)? in
            let lowered = candidate.lowercased()
            if wanted.count >= 2, lowered.hasPrefix(wanted) || lowered.hasSuffix(wanted) { return (0, candidate) }
            let distance = distance(wanted, lowered)
            return distance <= limit ? (distance, candidate) : nil
        }
        return found.sorted { ($0.distance, $0.word) < ($1.distance, $1.word) }.prefix(3).map(\.word)
    }

    /// A sentence about those words, or nothing.
    static func hint(for word: String, among words: some Sequence<String>) -> String {
        let found = suggestions(for: word, among: words)
        return found.isEmpty ? "" : "; did you mean \(found.map { "\"\($0)\"" }.joined(separator: " or "))?"
    }

    /// How many letters have to be put in, taken out, replaced or swapped with a neighbour.
    static func distance(_ left: String, _ right: String) -> Int {
        let (left, right) = (Array(left.prefix(64)), Array(right.prefix(64)))
        var rows = [Array(0...right.count)]
        for i in left.indices {
            var row = [i + 1]
            for j in right.indices {
                let replaced = rows[i][j] + (left[i] == right[j] ? 0 : 1)
                var best = min(replaced, rows[i][j + 1] + 1, row[j] + 1)
                if i > 0, j > 0, left[i] == right[j - 1], left[i - 1] == right[j] {
                    best = min(best, rows[i - 1][j - 1] + 1)
                }
                row.append(best)
            }
            rows.append(row)
        }
        return rows[left.count][right.count]
    }
}
