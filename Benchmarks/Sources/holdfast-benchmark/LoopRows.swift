/// The rows in which event loops are compared; Documentation/Benchmarks.md says what each of them is.
enum LoopRows {
    /// Some rows that one process measures.
    struct Group {
        /// What the programs call it.
        let program: String
        /// The row's own argument.
        var extra = 0
        /// How many operations; `nil` if as many as fit the time.
        var count: Int?
        /// Whether its threads may run on two CPUs.
        var isOnTwoCPUs = false
        /// How often at most it is measured.
        var mostRounds = Int.max
        /// By the name of the program's value, the name of the row.
        let rows: [(value: String, name: String)]
        var unit = "ns"
    }

    static func groups(quick: Bool) -> [Group] {
        simple + timers(limit: quick ? 300 : 3000, quick: quick) + [
            Group(
                program: "descriptors",
                extra: 10_000,
                rows: [("descriptors", "10,000 idle descriptors, event of 10 active")]
            ),
            Group(
                program: "lateness",
                count: quick ? 200 : 2000,
                rows: [("median", "1 ms timer, lateness, median"), ("p99", "1 ms timer, lateness, p99")],
                unit: "us"
            ),
        ]
    }

    private static let simple = [
        Group(program: "pass", rows: [("pass", "self-driven pass")]),
        Group(program: "poll", rows: [("poll", "idle poll")]),
        Group(program: "slice", rows: [("slice", "finite slice")]),
        Group(program: "signal", rows: [("signal", "source signal to perform")]),
        Group(program: "blocks", extra: 1, rows: [("blocks", "block posted from 1 thread")]),
        Group(program: "blocks", extra: 2, rows: [("blocks", "block posted from 2 threads")]),
        Group(program: "blocks", extra: 8, rows: [("blocks", "block posted from 8 threads")]),
        Group(program: "commands", extra: 1, rows: [("commands", "command sent by 1 thread")]),
        Group(program: "commands", extra: 2, rows: [("commands", "command sent by 2 threads")]),
        Group(program: "commands", extra: 8, rows: [("commands", "command sent by 8 threads")]),
        Group(program: "port", rows: [("port", "port self-wake")]),
        Group(program: "trip", rows: [("trip", "cross-thread round trip, one CPU")]),
        Group(program: "trip", isOnTwoCPUs: true, rows: [("trip", "cross-thread round trip, two CPUs")]),
        Group(program: "life", rows: [("life", "make, add and cancel a timer")]),
    ]

    /// The rows of many timers; `limit` is how many milliseconds a loop has that would take minutes for all of them.
    private static func timers(limit: Int, quick: Bool) -> [Group] {
        [("add", "add"), ("cancel", "cancel"), ("fire", "fire")].flatMap { program, verb in
            [(1000, "1,000"), (100_000, "100,000"), (1_000_000, "1,000,000")].map { count, text in
                Group(
                    program: program,
                    extra: limit,
                    count: count,
                    mostRounds: count == 1_000_000 ? (quick ? 1 : 3) : .max,
                    rows: [(program, "\(verb) one of \(text) timers")]
                )
            }
        }
    }

    /// The rows whose system calls are counted.
    static let systemCalls: [(program: String, name: String)] = [
        ("pass", "system calls, self-driven pass"),
        ("poll", "system calls, idle poll"),
        ("slice", "system calls, finite slice"),
        ("signal", "system calls, source signal to perform"),
        ("own-block", "system calls, block posted by a block"),
        ("port", "system calls, port self-wake"),
        ("due", "system calls, due timer"),
    ]

    /// An operation that is measured with ten, a hundred and so on of what it is done to, or beside.
    struct Growing {
        /// What the programs call it.
        let program: String
        let title: String
        /// Whether so many operations are done; else they are done beside so many.
        let isOfAll: Bool

        func group(_ size: Int) -> Group {
            Group(
                program: program,
                extra: isOfAll ? 300 : size,
                count: isOfAll ? size : nil,
                mostRounds: size == 1_000_000 ? 1 : 3,
                rows: [(program, "\(title), \(size)")]
            )
        }
    }

    static let growing = [
        Growing(program: "add", title: "add one of so many timers", isOfAll: true),
        Growing(program: "cancel", title: "cancel one of so many timers", isOfAll: true),
        Growing(program: "fire", title: "fire one of so many timers", isOfAll: true),
        Growing(program: "descriptors", title: "event beside so many idle descriptors", isOfAll: false),
        Growing(program: "sources", title: "signal beside so many idle sources", isOfAll: false),
        Growing(program: "modes", title: "signal and run in one of so many modes", isOfAll: false),
        Growing(program: "waiting", title: "one of so many blocks that wait", isOfAll: true),
    ]

    /// The rows in which the kernel has a part, by the programs' names: a bare epoll instance has only these.
    private static let ofKernel: Set<String> = [
        "poll", "slice", "signal", "sources", "port", "descriptors", "trip", "lateness", "idle",
    ]

    /// Whether a peer has a row.
    static func has(_ peer: String, _ row: String) -> Bool {
        switch peer {
        case "epoll": ofKernel.contains(row)
        case "libuv", "glib": row != "modes"
        default: true
        }
    }

    static let idle = (time: "idle loop, CPU time", wakeUps: "idle loop, wake-ups")
}
