// Uses a store the way several processes do, until it is killed or done: `store-probe COMMAND STORE [ARGUMENT]...`.
//
// Says what it has done on a line each, after it was done: whoever kills it knows what must be there.

import CrashReports
import Glibc
import SystemPackage

let arguments = CommandLine.arguments
guard arguments.count >= 3 else { exit(64) }
let path = FilePath(arguments[2])
let numbers = arguments.dropFirst(3).compactMap { Int($0) }

func fail(_ error: any Error) {
    say("error \(error)")
}

do {
    switch arguments[1] {
    case "write":
        try ProbeWriter(path, group: arguments[3]).write(count: numbers.first ?? .max, limit: numbers.dropFirst().first)
    case "count": try ProbeWriter(path, group: "").count(ReportID(rawValue: arguments[3]))
    case "add": try ProbeWriter(path, group: arguments[3]).add()
    case "prune":
        let limit = numbers.first
        while true { say("removed \(try ReportStore(path: path).prune(.init(reports: limit)).removed.count)") }
    case "list":
        while true {
            let listing = try ReportStore(path: path).summaries()
            for problem in listing.problems { say("error \(problem)") }
            say("listed \(listing.summaries.count)")
        }
    case "with-files":
        // A process that has so many descriptors left.
        var limit = rlimit(rlim_cur: rlim_t(3 + (numbers.first ?? 0)), rlim_max: rlim_t(3 + (numbers.first ?? 0)))
        setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        try ProbeWriter(path, group: "few").attempt()
    case "with-size":
        // A disk that takes no more than so many bytes of a file.
        signal(SIGXFSZ, SIG_IGN)
        var limit = rlimit(rlim_cur: rlim_t(numbers.first ?? 0), rlim_max: rlim_t(numbers.first ?? 0))
        setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
        try ProbeWriter(path, group: "size").attempt()
    case "fill":
        // Until there is no room.
        try ProbeWriter(path, group: "fill").fill()
    default: exit(64)
    }
} catch {
    fail(error)
    exit(1)
}
