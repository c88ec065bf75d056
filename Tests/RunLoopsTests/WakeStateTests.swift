import Testing

@testable import RunLoops

/// A wake state that expectations can name: they cannot take a noncopyable value apart.
private final class Subject {
    private let state = WakeState()

    func accept() { state.accept() }
    func ignore() { state.ignore() }
    func acceptMissed() { state.acceptMissed() }
    func endSleep() { state.endSleep() }
    func prepareToSleep() -> Bool { state.prepareToSleep() }
    func requestRecheck() -> Bool { state.requestRecheck() }
    func requestWake(isRemembered: Bool) -> Bool { state.requestWake(isRemembered: isRemembered) }
    func consume() -> Bool { state.consume() }
    func isPending() -> Bool { state.isPending }
}

@Suite("Whether a loop sleeps")
struct WakeStateTests {
    @Test("A sleeper is asked once to look at its deadlines again, and one that is awake never")
    func recheck() {
        let state = Subject()
        state.accept()
        #expect(!state.requestRecheck())
        #expect(state.prepareToSleep())
        #expect(state.requestRecheck())
        #expect(!state.requestRecheck())
        state.endSleep()
        #expect(!state.requestRecheck())
        // What came while it was awake does not make it deaf in the next sleep.
        #expect(state.prepareToSleep())
        #expect(state.requestRecheck())
    }

    @Test("A wake-up is written once, to a sleeper, and is there until it is served")
    func wake() {
        let state = Subject()
        #expect(!state.requestWake(isRemembered: false))
        state.accept()
        #expect(!state.requestWake(isRemembered: false))
        #expect(!state.prepareToSleep())
        #expect(state.consume())
        #expect(state.prepareToSleep())
        #expect(state.requestWake(isRemembered: false))
        #expect(!state.requestWake(isRemembered: false))
        state.endSleep()
        #expect(state.consume())
        #expect(!state.consume())
    }

    @Test("What is dropped at the end of a nested run counts for the run around it, if it is remembered")
    func missed() {
        let state = Subject()
        #expect(!state.requestWake(isRemembered: false))
        state.acceptMissed()
        #expect(!state.isPending())
        state.ignore()
        #expect(!state.requestWake(isRemembered: true))
        state.acceptMissed()
        #expect(state.consume())
        // A pass that begins finds everything by itself.
        state.ignore()
        #expect(!state.requestWake(isRemembered: true))
        state.accept()
        #expect(!state.isPending())
    }
}
