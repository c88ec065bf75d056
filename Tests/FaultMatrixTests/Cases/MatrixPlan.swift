import FaultInjection

/// Which cases there are: the whole product of causes and places on the main loop, all causes at one place of every kind on the
/// second loop and on threads without a loop.
enum MatrixPlan {
    /// A column of the page: places of one thread where a cause is expected to end in the same way.
    struct Column: Sendable {
        let title: String
        let places: [Place]
        let site: Site
        var setting = Setting.everything

        func cases(of cause: Cause) -> [MatrixCase] {
            places.map { MatrixCase(cause: cause, place: $0, site: site, setting: setting) }
        }
    }

    /// One place for each way in which the second loop calls out.
    static let secondLoopPlaces: [Place] = [.source, .port, .timer, .observerAfterWaiting, .block, .nestedRun]

    static let loops: [Column] = [
        Column(title: "callouts of the main loop", places: Place.callouts + Place.handlers, site: .main),
        Column(title: "the default policy", places: [.block], site: .main, setting: .usual),
        Column(title: "main queue", places: [.mainQueue], site: .main),
        Column(title: "task on the main actor", places: [.task], site: .main),
        Column(title: "callouts of a second loop", places: secondLoopPlaces, site: .second),
        Column(title: "task on a second loop", places: [.task], site: .second),
    ]

    static let threads: [Column] = [
        Column(title: "thread", places: [.threadBody], site: .pthread),
        Column(title: "dispatch worker", places: [.threadBody], site: .dispatch),
        Column(title: "pool thread", places: [.threadBody], site: .pool),
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

    static var cases: [MatrixCase] {
        Cause.allCases.flatMap { cause in (loops + threads).flatMap { $0.cases(of: cause) } } + [handedOver]
    }
}
