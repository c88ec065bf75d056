import FaultInjection

/// Which cases there are: the whole product of causes and places on the main loop, all causes at one place of every kind on the
/// second loop and on threads without a loop, and all of them in process 1 of a container.
///
/// What takes a second of processor time is committed at one place of each column.
enum MatrixPlan {
    /// A column of the page: places of one thread where a cause is expected to end in the same way.
    struct Column: Sendable {
        let title: String
        let places: [Place]
        let site: Site
        var setting = Setting.everything
        /// Whether the core has but one fault of it: it is decided as another column is.
        var isLikeAnother = false

        func cases(of cause: Cause) -> [MatrixCase] {
            // Who blocks the signal of a limit goes on, and libdispatch does.
            let isLimit = cause == .hazard(.processorTime) || cause == .hazard(.fileSize)
            if isLimit, site == .dispatch || site == .pool { return [] }
            let places = cause == .hazard(.processorTime) && places.contains(.block) ? [.block] : places
            return places.map { MatrixCase(cause: cause, place: $0, site: site, setting: setting) }
        }
    }

    /// One place for each way in which the second loop calls out.
    static let secondLoopPlaces: [Place] = [.source, .port, .timer, .observerAfterWaiting, .block, .nestedRun]

    static let loops: [Column] = [
        Column(title: "callouts of the main loop", places: Place.callouts + Place.handlers, site: .main),
        Column(title: "the default policy", places: [.block], site: .main, setting: .usual),
        Column(title: "process 1", places: [.block], site: .main, setting: .processOne),
        Column(title: "main queue", places: [.mainQueue], site: .main),
        Column(title: "task on the main actor", places: [.task], site: .main),
        Column(title: "callouts of a second loop", places: secondLoopPlaces, site: .second),
        Column(title: "task on a second loop", places: [.task], site: .second),
    ]

    static let tasks: [Column] = [
        Column(title: "fault boundary, its children", places: Place.boundaries, site: .pool),
        Column(title: "actor in a boundary", places: [.boundaryActor], site: .pool),
        Column(title: "main actor in a boundary", places: [.boundaryMainActor], site: .main, isLikeAnother: true),
        Column(title: "detached task of a boundary", places: [.boundaryDetached], site: .pool, isLikeAnother: true),
    ]

    static let threads: [Column] = [
        Column(title: "thread", places: [.threadBody], site: .pthread),
        Column(title: "dispatch worker", places: [.threadBody], site: .dispatch),
        Column(title: "pool thread", places: [.threadBody], site: .pool),
        Column(title: "NIO loop", places: [.channelHandler], site: .eventLoop, isLikeAnother: true),
        Column(title: "`main` before `run()`", places: [.beforeRun], site: .main),
        Column(title: "`main` after `run()`", places: [.afterRun], site: .main),
        Column(title: "`main` after `close()`", places: [.afterClose], site: .main),
    ]

    /// Also the one that no rule can see: what follows it by default.
    static let handedOver = MatrixCase(
        cause: .hazard(.dictionaryModify),
        place: .block,
        site: .main,
        setting: .whenQuiet
    )

    /// All of them, whether they can be run here or not.
    static var cases: [MatrixCase] {
        Cause.allCases.flatMap { cause in (loops + tasks + threads).flatMap { $0.cases(of: cause) } } + [handedOver]
    }

    /// Whether a case can be run here: process 1 needs a namespace of its own, which only root may make, and an event loop needs a probe
    /// that was built with one.
    static func isRunnable(_ matrixCase: MatrixCase) -> Bool {
        (matrixCase.setting != .processOne || ProcessNamespace.isAvailable)
            && (matrixCase.site != .eventLoop || ProbeBuilds.haveEventLoops)
    }

    /// One place of each column for each cause, and every place for one of them; of columns that are like another one only the latter.
    static var coreCases: [MatrixCase] {
        Cause.allCases.flatMap { cause in (loops + tasks + threads).flatMap { coreCases(of: cause, in: $0) } } + [
            handedOver
        ]
    }

    /// The core of the main loop's column and of the boundaries' for each cause, and of the other columns for a quarter of the causes: for
    /// another quarter in each column, and always for two.
    static var sampledCases: [MatrixCase] {
        // An overflow is another matter on each kind of stack.
        let always: Set = [Cause.fault(.nilUnwrap), .fault(.stackOverflow)]
        return Cause.allCases.enumerated().flatMap { number, cause in
            (loops + tasks + threads).enumerated().flatMap { column in
                let isMain = column.offset == 0 || column.offset == loops.count
                guard isMain || always.contains(cause) || (number + column.offset).isMultiple(of: 4) else {
                    return [MatrixCase]()
                }
                return coreCases(of: cause, in: column.element)
            }
        } + [handedOver]
    }

    private static func coreCases(of cause: Cause, in column: Column) -> [MatrixCase] {
        let cases = column.cases(of: cause)
        if cause == .fault(.nilUnwrap) { return cases }
        if column.isLikeAnother { return [] }
        return [cases.first { $0.place == .block } ?? cases.first].compactMap { $0 }
    }
}
