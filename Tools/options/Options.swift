/// A command line that is not understood: what is wrong, and what was meant.
package struct UsageError: Error {
    package let text: String

    package init(text: String) { self.text = text }
}

/// The options of a command, read by hand.
///
/// swift-argument-parser needs Foundation, which would be most of `holdfast`. It takes 1.3 ms of each start of the agent, a
/// sixth: it looks for conformances at run time, and each look goes over all libraries.
package struct Options {
    /// An option, with or without a value.
    package struct Option {
        let name: String
        /// What the value is called in the help; nil for an option without one.
        let value: String?
        /// Made when it is asked for: to join a list takes more of a start than to read the options.
        let help: () -> String
        /// Takes the value.
        let take: (String) throws(UsageError) -> Void
    }

    private var options: [Option] = []

    /// The names of those that were given.
    package final class Given {
        package fileprivate(set) var names: [String] = []
    }

    package let given = Given()

    package init() {}

    package mutating func add(
        _ name: String,
        _ value: String? = nil,
        _ help: @autoclosure @escaping () -> String,
        _ take: @escaping (String) throws(UsageError) -> Void
    ) {
        options.append(Option(name: name, value: value, help: help, take: take))
    }

    /// Adds an option whose value is read by a function.
    package mutating func add<Value>(
        _ name: String,
        _ value: String,
        _ help: @autoclosure @escaping () -> String,
        as read: @escaping (String) -> Value?,
        _ example: @autoclosure @escaping () -> String,
        _ take: @escaping (Value) -> Void
    ) {
        add(name, value, help()) { text throws(UsageError) in
            guard let read = read(text) else {
                throw UsageError(text: "\(name) takes \(example()), not '\(text)'")
            }
            take(read)
        }
    }

    /// Reads arguments up to the first that is no option, or behind `--`.
    ///
    /// - Parameter arguments: The arguments.
    /// - Returns: What is left.
    /// - Throws: `UsageError`.
    package func read(_ arguments: ArraySlice<String>) throws(UsageError) -> ArraySlice<String> {
        var rest = arguments
        while let argument = rest.first, argument.hasPrefix("-"), argument != "-" {
            rest = rest.dropFirst()
            if argument == "--" { return rest }
            let parts = argument.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = String(parts[0])
            guard let option = options.first(where: { $0.name == name }) else { throw unknown(name) }
            given.names.append(name)
            guard option.value != nil else {
                if parts.count > 1 { throw UsageError(text: "\(name) takes no value") }
                try option.take("")
                continue
            }
            if parts.count > 1 {
                // Of an unset variable, as in --store=$STORE.
                guard !parts[1].isEmpty || name == "--termination-log" else {
                    throw UsageError(text: "\(name) has an empty value")
                }
                try option.take(String(parts[1]))
            } else {
                guard let value = rest.first, value != "--" else {
                    throw UsageError(text: "\(name) needs a value: \(name) \(option.value ?? "")")
                }
                guard !value.isEmpty || name == "--termination-log" else {
                    throw UsageError(text: "\(name) has an empty value")
                }
                rest = rest.dropFirst()
                try option.take(value)
            }
        }
        return rest
    }

    /// Reads arguments of which options and others may come in any order.
    ///
    /// - Parameter arguments: The arguments.
    /// - Returns: The others.
    /// - Throws: `UsageError`.
    package func readAll(_ arguments: ArraySlice<String>) throws(UsageError) -> [String] {
        var others: [String] = []
        var rest = try read(arguments)
        while let first = rest.first {
            others.append(first)
            rest = try read(rest.dropFirst())
        }
        return others
    }

    private func unknown(_ name: String) -> UsageError {
        let near = Self.nearest(name, among: options.map(\.name)).map { "; did you mean \($0)?" } ?? ""
        return UsageError(text: "no such option: \(name)\(near)")
    }

    /// The name that is most like another one, if one is.
    package static func nearest(_ name: String, among names: [String]) -> String? {
        let best = names.map { ($0, distance(name, $0)) }.min { $0.1 < $1.1 }
        guard let best, best.1 <= max(2, name.count / 3) else { return nil }
        return best.0
    }

    /// How many letters have to be changed, added or left out: the distance of Levenshtein.
    private static func distance(_ one: String, _ other: String) -> Int {
        let (first, second) = (Array(one.utf8), Array(other.utf8))
        var row = Array(0...second.count)
        for (i, letter) in first.enumerated() {
            var diagonal = row[0]
            row[0] = i + 1
            for (j, otherLetter) in second.enumerated() {
                let cost = letter == otherLetter ? diagonal : min(diagonal, row[j], row[j + 1]) + 1
                diagonal = row[j + 1]
                row[j + 1] = cost
            }
        }
        return row[second.count]
    }

    /// The options for people, a line each.
    package var help: String {
        let names = options.map { $0.name + ($0.value.map { " \($0)" } ?? "") }
        let width = (names.map(\.count).max() ?? 0) + 2
        return zip(names, options).map { name, option in
            let lines = option.help().split(separator: "\n")
            let indent = "\n" + String(repeating: " ", count: width + 2)
            return "  " + name + String(repeating: " ", count: width - name.count) + lines.joined(separator: indent)
        }.joined(separator: "\n")
    }
}
