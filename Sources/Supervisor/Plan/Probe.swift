/// What is asked again and again of a program that is ready.
package struct Probe: Sendable, Hashable {
    /// How it is asked.
    package enum Question: Sendable, Hashable {
        /// Whether a connection is accepted.
        case tcp(host: String, port: UInt16)
        /// Whether a request is answered by a status from 200 to 399.
        case http(host: String, port: UInt16, path: String)
        /// Whether a program ends with 0.
        case exec([String])
    }

    /// How it is asked.
    package var question: Question
    /// How long after an answer it is asked again.
    package var interval = Duration.seconds(10)
    /// How long an answer may take.
    package var timeout = Duration.seconds(5)
    /// How many questions without a good answer in a row end the process.
    package var failures = 3

    /// Makes a probe with the defaults.
    package init(_ question: Question) {
        self.question = question
    }

    /// Reads `tcp:127.0.0.1:80`, `http://127.0.0.1:80/path`, or `exec:COMMAND`, which a shell runs.
    ///
    /// - Parameter text: The text.
    /// - Throws: `ListenAddress.Malformed`.
    package init(_ text: String) throws(ListenAddress.Malformed) {
        let example = "such as tcp:127.0.0.1:80, http://127.0.0.1:80/health or 'exec:COMMAND'"
        if text.hasPrefix("exec:"), text.count > 5 {
            self.init(.exec(["/bin/sh", "-c", String(text.dropFirst(5))]))
        } else if text.hasPrefix("http://") {
            let rest = text.dropFirst(7)
            let slash = rest.firstIndex(of: "/") ?? rest.endIndex
            let place = rest[..<slash]
            guard !place.isEmpty else {
                throw ListenAddress.Malformed(description: "'\(text)' is no probe, \(example)")
            }
            let hasPort = place.last != "]" && place.contains(":")
            guard case .tcp(let host, let port) = try ListenAddress("tcp:\(place)\(hasPort ? "" : ":80")") else {
                throw ListenAddress.Malformed(description: "'\(text)' is no probe, \(example)")
            }
            let path = slash == rest.endIndex ? "/" : String(rest[slash...])
            guard path.unicodeScalars.allSatisfy({ $0.isASCII && $0.value > 0x20 && $0.value != 0x7f }) else {
                throw ListenAddress.Malformed(description: "'\(text)' has a path that no request can have")
            }
            self.init(.http(host: host, port: port, path: path))
        } else if text.hasPrefix("tcp:"), case .tcp(let host, let port) = try ListenAddress(text) {
            self.init(.tcp(host: host == "::" ? "127.0.0.1" : host, port: port))
        } else {
            throw ListenAddress.Malformed(description: "'\(text)' is no probe, \(example)")
        }
    }
}
