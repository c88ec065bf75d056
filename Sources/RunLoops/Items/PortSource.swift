import CRecoveryPoint
import LinuxSystem
import Synchronization
public import SystemPackage

// Lets a program name the type without importing that package.
@_exported public import struct SystemPackage.FileDescriptor

extension HostRunLoop {
    /// Calls a closure once per pass while a descriptor is ready.
    ///
    /// It is level-triggered. The descriptor is borrowed: the loop neither reads, writes nor closes it. Invalidate the source
    /// before closing the descriptor. Readiness is what the kernel reported a moment ago. If something else may have emptied the
    /// descriptor since, make it nonblocking. The source may be in many modes of many loops. Callable from any thread.
    public final class PortSource: Item, LoopItem, @unchecked Sendable {
        let perform: @Sendable (PortSource, Readiness) -> Void
        private let interestBits: Atomic<UInt32>
        private let peersCode: Atomic<UInt8>
        /// Whether the caller gave the peers; otherwise the descriptor is asked.
        private let hasFixedPeers: Bool

        static var belongsToOneLoop: Bool { false }
        static var keepsModeAlive: Bool { true }

        /// The descriptor, which belongs to the maker of the source.
        public let descriptor: FileDescriptor
        /// The number of the descriptor.
        package var number: CInt { descriptor.rawValue }
        /// Returns whether the end of the process would lose work behind the descriptor; nil if the descriptor itself shows that.
        package let hasOpenWork: (@Sendable () -> Bool)?
        /// Called when the thread of the last loop that had the source has ended.
        private let whenLoopsEnded: (@Sendable () -> Void)?

        /// Makes a port source that is in no loop yet.
        ///
        /// - Parameters:
        ///   - label: The name that crash reports show for it.
        ///   - descriptor: An open descriptor of any kind that can be polled.
        ///   - interest: What to wait for.
        ///   - perform: Called on the loop's thread, with the source and the readiness of its descriptor.
        public convenience init(
            label: String,
            descriptor: FileDescriptor,
            interest: Interest = .readable,
            @_inheritActorContext perform: @escaping @Sendable @isolated(any) (PortSource, Readiness) -> Void
        ) {
            self.init(
                ItemIdentifier.next(),
                label,
                descriptor.rawValue,
                interest,
                nil,
                nil,
                nil,
                perform.isolation,
                Plain.port(perform)
            )
        }

        /// Makes a port source of the host's own, which is never withheld, withdrawn or counted as service or as open work.
        package convenience init(
            ofHost label: String,
            descriptor: CInt,
            @_inheritActorContext perform: @escaping @Sendable @isolated(any) (PortSource, Readiness) -> Void
        ) {
            let isolation = perform.isolation
            self.init(
                ItemIdentifier.nextOfHost(),
                label,
                descriptor,
                .readable,
                .notASocket,
                { false },
                nil,
                isolation,
                Plain.port(perform)
            )
        }

        /// Makes a port source whose owner knows who its peers are and whether it has open work.
        convenience init(
            label: String,
            number descriptor: CInt,
            interest: Interest = .readable,
            peers: SocketPeers,
            hasOpenWork: (@Sendable () -> Bool)? = nil,
            whenLoopsEnded: (@Sendable () -> Void)? = nil,
            perform: @escaping @Sendable (PortSource, Readiness) -> Void
        ) {
            self.init(
                ItemIdentifier.next(),
                label,
                descriptor,
                interest,
                peers,
                hasOpenWork,
                whenLoopsEnded,
                nil,
                perform
            )
        }

        /// Makes a port source with a given identifier.
        private init(
            _ identifier: UInt64,
            _ label: String,
            _ descriptor: CInt,
            _ interest: Interest,
            _ peers: SocketPeers?,
            _ hasOpenWork: (@Sendable () -> Bool)?,
            _ whenLoopsEnded: (@Sendable () -> Void)?,
            _ isolation: (any Actor)?,
            _ perform: @escaping @Sendable (PortSource, Readiness) -> Void
        ) {
            self.descriptor = FileDescriptor(rawValue: descriptor)
            self.hasOpenWork = hasOpenWork
            self.whenLoopsEnded = whenLoopsEnded
            interestBits = Atomic(interest.rawValue)
            peersCode = Atomic((peers ?? .notASocket).rawValue)
            hasFixedPeers = peers != nil
            self.perform = perform
            super.init(identifier, label: label, isolation: isolation)
        }

        /// What to wait for; may be changed at any time, even by its own closure.
        ///
        /// While it is empty nothing is reported, not even that the other end is gone.
        public var interest: Interest {
            get { Interest(rawValue: interestBits.load(ordering: .acquiring)) }
            set {
                let old = interestBits.exchange(newValue.rawValue, ordering: .acquiringAndReleasing)
                guard old != newValue.rawValue else { return }
                // Retained under the lock, because the loop's thread may end meanwhile.
                for (loop, mode, slot) in withItemLock({
                    memberships.all.map { ($0.loop.object, $0.mode.object, $0.slot) }
                }) {
                    updateRegistration(loop, mode, slot)
                }
            }
        }

        override func end() {
            if endLife() { removeFromAllLoops() }
        }

        /// Brings the kernel's registration in line with the interest.
        private func updateRegistration(_ loop: HostRunLoop, _ mode: LoopMode, _ slot: Int) {
            guard !loop.isInheritedByFork else { return }
            loop.lock.withLock {
                withItemLock {
                    guard memberships.membership(in: mode)?.slot == slot else { return }
                    mode.watchPort(at: slot, descriptor: number, for: interest.events)
                }
            }
        }

        // MARK: Peers

        /// How many peers its input comes from, as seen when it was last added.
        var peers: SocketPeers { SocketPeers(rawValue: peersCode.load(ordering: .relaxed)) ?? .notASocket }

        /// Whether its descriptor is a socket or belongs to a message port.
        var bringsWordsFromOthers: Bool { peers != .notASocket }

        /// The traits that a fault handler sees.
        @inline(__always)
        var traits: UInt32 {
            peersCode.load(ordering: .relaxed) == SocketPeers.many.rawValue ? UInt32(HF_TRAIT_SHARED) : 0
        }

        /// Finds out who the peers of the descriptor are.
        ///
        /// Done in advance: nobody may ask during a fault.
        private func lookAtPeers() {
            guard !hasFixedPeers else { return }
            peersCode.store(SocketPeers.of(number).rawValue, ordering: .relaxed)
        }

        /// Called with no lock held when the thread of a loop that had the source has ended.
        func noteEndOfLoop() {
            guard let whenLoopsEnded, withItemLock({ memberships.firstLoop { _ in true } == nil }) else { return }
            whenLoopsEnded()
        }

        // MARK: LoopItem

        override func join(_ loop: HostRunLoop, in mode: Mode) throws(RunLoopError) -> AddResult {
            lookAtPeers()
            return try loop.insert(self, into: mode).result
        }

        override func part(from loop: HostRunLoop, in mode: Mode) { loop.takeOut(self, of: mode) }

        override func isMember(of loop: HostRunLoop, in mode: Mode) -> Bool { loop.holds(self, in: mode) }

        func enter(_ mode: LoopMode) throws(RunLoopError) -> Int {
            try mode.insert(self, events: interest.events)
        }

        func leave(_ mode: LoopMode, slot: Int) {
            mode.removePort(at: slot, descriptor: number)
        }
    }
}

extension HostRunLoop.PortSource {
    /// What a port source waits for.
    public struct Interest: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        ///
        /// - Parameter rawValue: The bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Data to read, a connection to accept, or end of file.
        public static let readable = Interest(rawValue: 1 << 0)
        /// Room to write.
        public static let writable = Interest(rawValue: 1 << 1)
        /// Urgent data, or an exceptional condition of that kind of file.
        package static let priority = Interest(rawValue: 1 << 2)

        var events: Epoll.Events {
            var events: Epoll.Events = []
            if contains(.readable) { events.formUnion([.readable, .peerClosed]) }
            if contains(.writable) { events.insert(.writable) }
            if contains(.priority) { events.insert(.priority) }
            return events
        }
    }

    /// What a descriptor is ready for.
    public struct Readiness: OptionSet, Sendable, Hashable {
        /// The bits.
        public let rawValue: UInt32

        /// Makes a set from its bits.
        ///
        /// - Parameter rawValue: The bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Data to read, a connection to accept, or end of file.
        public static let readable = Readiness(rawValue: 1 << 0)
        /// Room to write.
        public static let writable = Readiness(rawValue: 1 << 1)
        /// Urgent data, or an exceptional condition of that kind of file.
        package static let priority = Readiness(rawValue: 1 << 2)
        /// The peer will send no more.
        public static let peerClosed = Readiness(rawValue: 1 << 3)
        /// The other end is gone; reported whatever the interest is.
        public static let hangUp = Readiness(rawValue: 1 << 4)
        /// The descriptor is in error; reported whatever the interest is.
        public static let error = Readiness(rawValue: 1 << 5)

        /// Keeps only those of epoll's events that the present interest asks for.
        init(_ events: Epoll.Events, interest: Interest) {
            var readiness: Readiness = []
            let wanted = Self.wanted(events, interest)
            if wanted.contains(.readable) { readiness.insert(.readable) }
            if wanted.contains(.writable) { readiness.insert(.writable) }
            if wanted.contains(.priority) { readiness.insert(.priority) }
            if wanted.contains(.peerClosed) { readiness.insert(.peerClosed) }
            if wanted.contains(.hangUp) { readiness.insert(.hangUp) }
            if wanted.contains(.error) { readiness.insert(.error) }
            self = readiness
        }

        /// Those of epoll's events that an interest asks for.
        @inline(__always)
        static func wanted(_ events: Epoll.Events, _ interest: Interest) -> Epoll.Events {
            events.intersection(interest.events.union(interest.isEmpty ? [] : [.hangUp, .error]))
        }
    }
}
