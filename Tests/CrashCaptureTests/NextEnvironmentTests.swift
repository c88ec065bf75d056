import CCrashCapture
import Glibc
import Testing

/// The environment of the next process.
@Suite struct NextEnvironmentTests {
    private static func environment(without names: [String], with entries: [String]) -> (all: [String], last: String?) {
        let left = names.flatMap { $0.utf8CString }
        let added = entries.flatMap { $0.utf8CString }
        var last: UnsafeMutablePointer<CChar>?
        guard let list = hf_capture_make_environment(left, left.count, added, added.count, &last) else {
            return ([], nil)
        }
        defer { free(list) }
        var all: [String] = []
        while let entry = list[all.count] { all.append(String(cString: entry)) }
        return (all, last.map { String(cString: $0) })
    }

    private static var own: [String] {
        var all: [String] = []
        while let entry = environ[all.count] { all.append(String(cString: entry)) }
        return all
    }

    @Test func `It is this process's, without some variables, and with entries at its end`() throws {
        let same = Self.environment(without: [], with: [])
        #expect(same.all == Self.own && same.last == nil)
        let path = try #require(Self.own.first { $0.hasPrefix("PATH=") })
        // Only whole names count.
        let made = Self.environment(without: ["PATH", "HOM", "NOT_THERE"], with: ["ONE=1", "TWO=", "THREE=3=3"])
        #expect(made.all == Self.own.filter { $0 != path } + ["ONE=1", "TWO=", "THREE=3=3"])
        #expect(made.last == "THREE=3=3")
    }

    @Test func `An entry may be as long as it likes, and there may be many`() {
        let entries = (0..<5000).map { "N\($0)=" + String(repeating: "v", count: $0) }
        let made = Self.environment(without: [], with: entries)
        #expect(made.all == Self.own + entries)
        #expect(made.last == entries.last)
    }
}
