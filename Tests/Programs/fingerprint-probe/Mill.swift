// These are bugs on purpose.
// swift-format-ignore-file: NeverForceUnwrap

import Glibc
import Holdfast

#if SHIFTED
/// Room for what was added at the top of a file.
///
/// Lines.
///
/// More lines.
@inline(never)
func newlyWritten(_ value: Int) -> Int {
    [value].map { $0 + 1 }.reduce(0) { $0 + $1 }
}
#endif

/// Calls what has the bugs.
@MainActor
final class Mill {
    let bug: Bug
    let depth: Int
    private var handlers: [String: @MainActor () -> Void] = [:]

    init(bug: Bug, depth: Int) {
        self.bug = bug
        self.depth = depth
        configure()
    }

    /// Closures that are kept for later.
    private func configure() {
        let message = Message(opaque(0))
        #if SHIFTED
        handlers["added"] = { _ = opaque(newlyWritten(1)) }
        #endif
        handlers["first"] = { consume(message.header("From")!.count) }
        handlers["second"] = { consume(message.header("To")!.count) }
    }

    func start(_ way: Way, on host: EventHost) {
        let handler = bug == .secondHandler ? "second" : "first"
        if [.firstHandler, .secondHandler].contains(bug), let handler = handlers[handler] {
            let label = bug == .secondHandler ? "deliver" : "accept"
            host.loop.performWithoutWaking(label: label) { MainActor.assumeIsolated(handler) }
            host.loop.performWithoutWaking { host.stop() }
            return
        }
        switch way {
        case .timer:
            host.loop.perform(after: .milliseconds(1), label: "retry queue") {
                self.retry()
            }
        case .block: host.loop.performWithoutWaking(label: "new mail") { self.accept() }
        case .thread: detach { [bug, depth] in accepted(bug, depth) }
        }
        host.loop.perform(after: .milliseconds(300)) { host.stop() }
    }

    @inline(never)
    private func retry() {
        commit(bug, depth)
        consume(1)
    }

    @inline(never)
    private func accept() {
        #if SHIFTED
        consume(newlyWritten(2))
        #endif
        handle(opaque(2))
        consume(2)
    }

    @inline(never)
    private func handle(_ count: Int) {
        for index in 0..<count where index == count - 1 {
            commit(bug, depth)
            consume(3)
        }
    }
}

/// The same on a thread that has no loop.
@inline(never)
private func accepted(_ bug: Bug, _ depth: Int) {
    consume(depth)
    commit(bug, depth)
    consume(5)
}
