/// A file with several programs, in the syntax of systemd's units (systemd.syntax(7)), with the keys that both have.
///
/// ```ini
/// [Supervisor]
/// Strategy=rest_for_one
///
/// [Program database]
/// ExecStart=/usr/bin/redis-server --port 6379
/// Restart=on-failure
///
/// [Program web]
/// Type=notify
/// ExecStart=/usr/local/bin/web
/// ListenStream=127.0.0.1:8080
/// Restart=always
/// ```
/// Programs are started in their order, each when the one before is ready.
package struct UnitFile: Sendable {
    /// The programs; not empty.
    package private(set) var programs: [Program] = []
    package private(set) var strategy = Supervisor.Strategy.oneForOne

    /// What is wrong with a file, and where.
    package struct Malformed: Error, CustomStringConvertible {
        /// The line, from 1, and what is wrong with it.
        package let description: String
    }

    /// How many programs a file may have.
    private static let most = 256

    /// Reads a file.
    ///
    /// - Parameter text: Its text.
    /// - Throws: `Malformed`.
    package init(_ text: String) throws(Malformed) {
        var section: Section?
        for line in Self.logicalLines(text) {
            do throws(Problem) {
                if line.text.hasPrefix("[") {
                    section = try begin(line.text)
                } else {
                    guard let sign = line.text.firstIndex(of: "="), sign != line.text.startIndex else {
                        throw Problem("'\(line.text)' is neither [Section] nor Key=Value")
                    }
                    let key = line.text[..<sign].trimmed
                    let value = line.text[line.text.index(after: sign)...].trimmed
                    switch section {
                    case nil: throw Problem("\(key)= comes before the first [Section]")
                    case .supervisor: try setOwn(key, value)
                    case .program(let index): try UnitKeys.set(key, value, of: &programs[index])
                    }
                }
            } catch {
                throw Malformed(description: "line \(line.number): \(error.text)")
            }
        }
        guard !programs.isEmpty else { throw Malformed(description: "no [Program NAME] section") }
        if let program = programs.first(where: { $0.command.isEmpty }) {
            throw Malformed(description: "[Program \(program.name)] has no ExecStart=")
        }
    }

    private enum Section {
        case supervisor
        case program(Int)
    }

    /// What is wrong with a line.
    struct Problem: Error {
        let text: String

        init(_ text: String) { self.text = text }
    }

    private mutating func begin(_ line: Substring) throws(Problem) -> Section {
        guard line.hasSuffix("]") else { throw Problem("'\(line)' has no ]") }
        let title = line.dropFirst().dropLast().trimmed
        if title == "Supervisor" { return .supervisor }
        let words = title.split(separator: " ", maxSplits: 1)
        guard words.count == 2, words[0] == "Program" else {
            throw Problem("no such section: [\(title)]; there are [Supervisor] and [Program NAME]")
        }
        let name = words[1].trimmed
        guard !name.contains(":") else {
            throw Problem("the name '\(name)' has a colon, which LISTEN_FDNAMES cannot have")
        }
        guard !programs.contains(where: { $0.name == name }) else { throw Problem("two programs are called '\(name)'") }
        guard programs.count < Self.most else { throw Problem("more than \(Self.most) programs") }
        programs.append(Program(name: String(name), command: []))
        return .program(programs.count - 1)
    }

    private mutating func setOwn(_ key: Substring, _ value: Substring) throws(Problem) {
        guard key == "Strategy" else { throw Problem("no such key: \(key)=; [Supervisor] has Strategy=") }
        guard let strategy = Supervisor.Strategy(rawValue: String(value)) else {
            throw Problem("Strategy= takes one_for_one, rest_for_one or one_for_all, not '\(value)'")
        }
        self.strategy = strategy
    }

    /// The lines without comments, those that end with a backslash joined with the next; with their numbers.
    private static func logicalLines(_ text: String) -> [(number: Int, text: Substring)] {
        var lines: [(number: Int, text: Substring)] = []
        var begun: (number: Int, text: String)?
        for (index, line) in text.split(separator: "\n", omittingEmptySubsequences: false).enumerated() {
            let trimmed = line.trimmed
            // Comments may stand between lines that are joined (systemd.syntax(7)).
            if trimmed.hasPrefix("#") || trimmed.hasPrefix(";") { continue }
            var whole = begun ?? (index + 1, "")
            if trimmed.hasSuffix("\\") {
                whole.text += trimmed.dropLast() + " "
                begun = whole
                continue
            }
            whole.text += trimmed
            begun = nil
            if !whole.text.isEmpty { lines.append((whole.number, Substring(whole.text))) }
        }
        if let begun, !begun.text.isEmpty { lines.append((begun.number, Substring(begun.text))) }
        return lines
    }
}

/// The keys of a program, which systemd.service(5), systemd.socket(5) and systemd.exec(5) have as well.
enum UnitKeys {
    private typealias Setter = @Sendable (inout Program, Substring) -> Bool

    /// Sets a key; the setter says whether it understood the value.
    private static let setters: [(key: String, takes: String, set: Setter)] = [
        (
            "ExecStart", "a program and its arguments",
            { program, value in
                guard let words = words(of: value), !words.isEmpty else { return false }
                program.command = words
                return true
            }
        ),
        (
            "Type", "exec, simple or notify",
            { program, value in
                guard ["exec", "simple", "notify"].contains(value) else { return false }
                program.readiness = value == "notify" ? .notify : .exec
                return true
            }
        ),
        (
            "Restart", "no, on-failure or always",
            { program, value in
                guard let restarts = value == "no" ? .never : Program.Restarts(rawValue: String(value)) else {
                    return false
                }
                program.restarts = restarts
                return true
            }
        ),
        ("RestartSec", "a time", time(\.backOff.base)),
        ("RestartMaxDelaySec", "a time", time(\.backOff.cap)),
        ("TimeoutStartSec", "a time", time(\.startTimeout)),
        (
            "TimeoutStopSec", "a time",
            { program, value in
                guard let time = Duration(readingTime: String(value)) else { return false }
                // As in systemd: for ever.
                program.stopTimeout = time == .zero ? .seconds(1_000_000_000) : time
                return true
            }
        ),
        ("HealthyAfterSec", "a time", time(\.backOff.healthyAfter)),
        ("BacklogWaitSec", "a time", time(\.backlogWait)),
        (
            "WatchdogSec", "a time",
            { program, value in
                guard let time = Duration(readingTime: String(value)) else { return false }
                program.watchdog = time
                return true
            }
        ),
        (
            "KillSignal", "a signal such as SIGTERM",
            { program, value in
                guard let signal = SignalName.number(of: String(value)) else { return false }
                program.stopSignal = signal
                return true
            }
        ),
        (
            "ReloadSignal", "a signal that a program can take, such as SIGHUP",
            { program, value in
                guard let signal = SignalName.takenNumber(of: String(value)) else { return false }
                program.reloadSignal = signal
                return true
            }
        ),
        (
            "SuccessExitStatus", "statuses and signals",
            { program, value in
                guard let list = SuccessList.read(value.split(separator: " ").joined(separator: ",")) else {
                    return false
                }
                program.successes.formUnion(list)
                return true
            }
        ),
        (
            "WorkingDirectory", "an absolute path",
            { program, value in
                program.directory = String(value)
                return value.hasPrefix("/")
            }
        ),
        (
            "Environment", "NAME=VALUE",
            { program, value in
                guard let words = words(of: value) else { return false }
                for word in words {
                    let parts = word.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
                    guard parts.count == 2, !parts[0].isEmpty else { return false }
                    program.environment[String(parts[0])] = String(parts[1])
                }
                return true
            }
        ),
        (
            "ListenStream", "HOST:PORT, PORT or a path",
            { program, value in
                guard let address = try? ListenAddress(value.hasPrefix("/") ? "unix:\(value)" : "tcp:\(value)") else {
                    return false
                }
                program.listens.append(address)
                return true
            }
        ),
        (
            "SocketMode", "a mode such as 0660",
            { program, value in
                guard let mode = Program.mode(String(value)) else { return false }
                program.socketMode = mode
                return true
            }
        ),
        (
            "GiveUpAfter", "a number from 1",
            { program, value in
                program.givesUpAfter = Int(value)
                return program.givesUpAfter.map { $0 > 0 } ?? false
            }
        ),
        (
            "Probe", "tcp:HOST:PORT, http://HOST:PORT/PATH or exec:COMMAND",
            { program, value in
                guard let probe = try? Probe(String(value)) else { return false }
                program.probe = probe
                return true
            }
        ),
    ]

    private static func time(_ path: any WritableKeyPath<Program, Duration> & Sendable) -> Setter {
        { program, value in
            guard let time = Duration(readingTime: String(value)) else { return false }
            program[keyPath: path] = time
            return true
        }
    }

    /// Sets a key of a program.
    static func set(_ key: Substring, _ value: Substring, of program: inout Program) throws(UnitFile.Problem) {
        guard let setter = setters.first(where: { $0.key == key }) else {
            throw UnitFile.Problem("no such key: \(key)=; there are \(setters.map(\.key).joined(separator: ", "))")
        }
        guard setter.set(&program, value) else {
            throw UnitFile.Problem("\(key)= takes \(setter.takes), not '\(value)'")
        }
    }

    /// The words of a command line: separated by blanks, in quotation marks of either kind, with a backslash before what is to stand for
    /// itself; nil if a quotation mark has no other end.
    static func words(of line: Substring) -> [String]? {
        var words: [String] = []
        var word: String?
        var quote: Character?
        var isEscaped = false
        for character in line {
            if isEscaped {
                word = (word ?? "") + String(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else if let open = quote {
                if character == open { quote = nil } else { word = (word ?? "") + String(character) }
            } else if character == "\"" || character == "'" {
                quote = character
                word = word ?? ""
            } else if character.isWhitespace {
                if let word { words.append(word) }
                word = nil
            } else {
                word = (word ?? "") + String(character)
            }
        }
        guard quote == nil, !isEscaped else { return nil }
        if let word { words.append(word) }
        return words
    }
}

extension Substring {
    /// Without blanks at both ends.
    fileprivate var trimmed: Substring {
        let start = drop(while: \.isWhitespace)
        guard let last = start.lastIndex(where: { !$0.isWhitespace }) else { return start[..<start.startIndex] }
        return start[...last]
    }
}
