import Synchronization

extension HostRunLoop {
    /// A scope that is entered when a run begins, renewed whenever the loop is about to sleep, and left when the run ends.
    ///
    /// It does what the autorelease pool does around the passes of a Darwin main thread. The pool is opened at `entry` before all
    /// other observers, closed and reopened at `beforeWaiting` after all others, and closed at `exit`. Make one with
    /// `addPassScope`.
    ///
    /// - A nested run has its own scope inside the scope of the run around it.
    /// - A pass that only polls does not renew the scope: it has no `beforeWaiting`.
    /// - Scopes that were made later lie inside those that were made earlier.
    /// - A scope that is added during a run is first entered when that run is about to sleep.
    /// - If `enter` faults and is abandoned, `leave` is not called for that scope; the next renewal enters a new one.
    /// - If `leave` faults, it is not called again for the same scope; the renewal still enters the next one.
    ///
    /// Its observers use the first and the last 2^33 orders. Callable from any thread.
    public final class PassScope: Sendable {
        private let observers: [Observer]
        private let end: @Sendable () -> Void

        /// Takes the observers that enter the scope and the one that leaves it.
        fileprivate init(enterers: [Observer], leaver: Observer, end: @escaping @Sendable () -> Bool) {
            observers = enterers + [leaver]
            self.end = {
                for enterer in enterers {
                    enterer.invalidate()
                }
                if end() {
                    leaver.invalidate()
                }
            }
        }

        /// Invalidates it: it is not entered again.
        ///
        /// A scope that is open now is left at its usual end, on the loop's thread, because the running callout may depend on it.
        public func invalidate() { end() }

        /// Whether it was not invalidated.
        package var isValid: Bool { observers[0].isValid }

        /// Whether any of its observers is still in the loop.
        var isInLoop: Bool { observers.contains { $0.isValid } }
    }

    /// The scopes that were entered and not yet left, innermost last.
    private final class OpenScopes<State>: @unchecked Sendable {
        /// One scope, in the run of a nesting level.
        private struct Scope {
            let nesting: Int
            /// Nil while `enter` runs, and permanently if `enter` was abandoned.
            var state: State?
        }

        private let lock = CriticalLock()
        // Protected by `lock`. Only the loop's thread touches the states.
        private var scopes: [Scope] = []
        private var isEnding = false

        /// Enters a scope of a run, unless no more may be entered.
        func enter(nesting: Int, _ enter: () -> State) {
            let place = lock.withLock { () -> Int? in
                // The last scope stays open while the leaving observer is withdrawn.
                guard !isEnding, scopes.last?.nesting ?? -1 < nesting else { return nil }
                scopes.append(Scope(nesting: nesting, state: nil))
                return scopes.count - 1
            }
            guard let place else { return }
            let state = enter()
            lock.withLock { scopes[place].state = state }
        }

        /// Leaves the scopes of a run.
        ///
        /// Each is removed first, so that one whose `leave` faults is not left again.
        func leave(nesting: Int, _ leave: (State) -> Void) {
            while let scope = lock.withLock({ scopes.last?.nesting ?? -1 >= nesting ? scopes.removeLast() : nil }) {
                if let state = scope.state {
                    leave(state)
                }
            }
        }

        /// Forbids further scopes and returns whether none is open.
        func end() -> Bool {
            lock.withLock {
                isEnding = true
                return scopes.isEmpty
            }
        }

        /// Whether further scopes are forbidden and none is open.
        var hasEnded: Bool { lock.withLock { isEnding && scopes.isEmpty } }
    }

    private static let lastPassScope = Atomic<Int>(0)

    /// Adds a scope around the passes of the runs in a mode.
    ///
    /// See `PassScope` for what is called when. Callable from any thread.
    ///
    /// - Parameters:
    ///   - mode: The mode, which is made if it is new, or `.common`.
    ///   - label: The name that crash reports show for its callouts.
    ///   - enter: Called on the loop's thread; `leave` gets its result.
    ///   - leave: Called on the loop's thread with the result of `enter`.
    /// - Returns: The scope, which lives in the loop until it is invalidated.
    @discardableResult
    public func addPassScope<State>(
        to mode: Mode = .common,
        label: String,
        @_inheritActorContext enter: @escaping @Sendable @isolated(any) () -> State,
        @_inheritActorContext leave: @escaping @Sendable @isolated(any) (State) -> Void
    ) -> PassScope {
        require(enter.isolation, for: label)
        require(leave.isolation, for: label)
        let enter = Plain.enter(enter)
        let leave = Plain.leave(leave)
        let open = OpenScopes<State>()
        let enterNext = { @Sendable [unowned self] () -> Void in
            open.enter(nesting: nesting, enter)
        }
        // Scopes are entered in the order in which they were made and left in reverse. A renewal leaves all scopes before it enters
        // the first.
        let number = Self.lastPassScope.wrappingAdd(1, ordering: .relaxed).newValue
        let middle = Int.max - (1 << 32)
        let atEntry = Observer(label: label, activities: .entry, order: .min + number) { _, _ in enterNext() }
        let renewing = Observer(label: label, activities: .beforeWaiting, order: middle + number) { _, _ in enterNext()
        }
        let leaving = Observer(label: label, activities: [.beforeWaiting, .exit], order: middle - number) {
            [unowned self] observer, _ in
            open.leave(nesting: nesting, leave)
            if open.hasEnded {
                observer.invalidate()
            }
        }
        // The leaving observer must be in the loop before those that enter.
        for observer in [leaving, renewing, atEntry] {
            add(observer, to: mode)
        }
        return PassScope(enterers: [atEntry, renewing], leaver: leaving) { open.end() }
    }
}
