/// The hand-overs of a program: how many have ended, and how.
struct HandOvers: Equatable {
    /// How many have ended, whichever way, and in how many of them the next process took over.
    private(set) var ended = 0
    private(set) var done = 0
    /// Why the last successor did not take over.
    private(set) var lastFailure: String?
    /// Whether the process before has ended while its successor was starting, which is still to become ready.
    private(set) var isInherited = false

    mutating func begin() { lastFailure = nil }

    mutating func noteEarlyEnd() { isInherited = true }

    mutating func succeed() {
        isInherited = false
        ended += 1
        done += 1
    }

    mutating func fail(_ reason: String) {
        isInherited = false
        lastFailure = reason
        ended += 1
    }
}
