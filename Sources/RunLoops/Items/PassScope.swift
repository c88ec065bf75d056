import Synchronization

extension HostRunLoop {
    /// Something that is entered when a run begins, renewed whenever the loop is about to sleep, and left when the run ends.
    ///
    /// What an autorelease pool does around the passes of a Darwin main thread: open at `entry` before all other observers,
    /// closed and opened again at `beforeWaiting` behind all others, closed at `exit`. Made by `addPassScope`.
    ///
    /// - A nested run has a scope of its own inside that of the run around it.
    /// - A pass that only polls does not renew: it has no `beforeWaiting`.
    /// - Scopes that were made later lie inside of those that were made earlier.
    /// - A scope that is added during a run is entered when that run is about to sleep for the first time.
    /// - If `enter` faults and is abandoned, there is nothing to leave until the next renewal. If `leave` faults, it is not
    ///   called again for the same scope, and the renewal enters the next one all the same.
    ///
    /// It stands on observers with the first and the last 2^33 orders. Callable from any thread.
    public final class PassScope: Sendable {
        private let observers: [Observer]
        private let end: @Sendable () -> Void

        /// The observers of the scope's beginnings and of its ends.
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

        /// Ends its life: it is not entered again.
        ///
        /// A scope that is open now is left at its usual end, on the loop's thread: the callout that is running may depend
        /// on it.
        public func invalidate() { end() }

        /// Whether it was not invalidated.
        package var isValid: Bool { observers[0].isValid }

        /// Whether any of its observers is still in the loop.
        var isInLoop: Bool { observers.contains { $0.isValid } }
    }

    /// The scopes that were entered and not left, the innermost last.
    private final class OpenScopes<State>: @unchecked Sendable {
        /// One scope, in the run of a nesting.
        private struct Scope {
            let nesting: Int
            /// None while `enter` runs, and for ever if that was abandoned.
            var state: State?
        }

        private let lock = CriticalLock()
        // Protected by `lock`. The states are touched by the loop's thread only.
        private var scopes: [Scope] = []
        private var isEnding = false

        /// Enters a scope of a run, unless no more are allowed.
        func enter(nesting: Int, _ enter: () -> State) {
            let place = lock.withLock { () -> Int? in
                // While the observer that leaves is withdrawn, the scope stays open.
                guard !isEnding, scopes.last?.nesting ?? -1 < nesting else { return nil }
                scopes.append(Scope(nesting: nesting, state: nil))
                return scopes.count - 1
            }
            guard let place else { return }
            let state = enter()
            lock.withLock { scopes[place].state = state }
        }

        /// Leaves the scope of a run, after taking it: one whose leaving faults is not left again.
        func leave(nesting: Int, _ leave: (State) -> Void) {
            while let scope = lock.withLock({ scopes.last?.nesting ?? -1 >= nesting ? scopes.removeLast() : nil }) {
                if let state = scope.state {
                    leave(state)
                }
            }
        }

        /// Allows no more scopes, and says whether none is open.
        func end() -> Bool {
            lock.withLock {
                isEnding = true
                return scopes.isEmpty
            }
        }

        /// Whether no more scopes are allowed and none is open.
        var hasEnded: Bool { lock.withLock { isEnding && scopes.isEmpty } }
    }

    private static let lastPassScope = Atomic<Int>(0)

    /// Adds a scope around the passes of the runs in a mode.
    ///
    /// Callable from any thread. See `PassScope` for what is called when.
    ///
    /// - Parameters:
    ///   - mode: The mode, which is made if it is new, or `.common`.
    ///   - label: What a crash report calls its callouts.
    ///   - enter: Called on the loop's thread, returns what `leave` is called with.
    ///   - leave: Called on the loop's thread with what `enter` returned.
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
        // Entries in the order of making, exits against it; a renewal leaves all scopes before it enters the first.
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
        // What is left is there before what is entered.
        for observer in [leaving, renewing, atEntry] {
            add(observer, to: mode)
        }
        return PassScope(enterers: [atEntry, renewing], leaver: leaving) { open.end() }
    }
}
