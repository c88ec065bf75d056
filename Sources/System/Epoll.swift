import CLinuxShims
import Glibc
public import SystemPackage

/// A set of descriptors to wait for: an epoll instance, level-triggered unless asked otherwise.
///
/// Notes on epoll(7):
/// - The set holds open file *descriptions*: closing a descriptor of which a duplicate lives leaves it in the set.
/// - A regular file or a directory cannot be in a set (`EPERM`).
/// - `EPOLLERR` and `EPOLLHUP` are reported whether or not they were asked for.
/// - An instance may be in another instance's set: it is readable while one of its own descriptors is ready.
public struct Epoll: ~Copyable, Sendable {
    /// Conditions of a descriptor, with the values of `epoll_ctl`.
    public struct Events: OptionSet, Sendable {
        /// The bits of `epoll_event.events`.
        public let rawValue: UInt32

        /// Makes a set from the bits of `epoll_event.events`.
        ///
        /// - Parameter rawValue: The bits.
        public init(rawValue: UInt32) {
            self.rawValue = rawValue
        }

        /// Data can be read, or end of file.
        ///
        /// The corresponding C constant is `EPOLLIN`.
        public static var readable: Events { Events(rawValue: EPOLLIN.rawValue) }
        /// Data can be written.
        ///
        /// The corresponding C constant is `EPOLLOUT`.
        public static var writable: Events { Events(rawValue: EPOLLOUT.rawValue) }
        /// There is urgent data.
        ///
        /// The corresponding C constant is `EPOLLPRI`.
        public static var priority: Events { Events(rawValue: EPOLLPRI.rawValue) }
        /// The peer closed its writing half.
        ///
        /// The corresponding C constant is `EPOLLRDHUP`.
        public static var peerClosed: Events { Events(rawValue: EPOLLRDHUP.rawValue) }
        /// The other end is gone.
        ///
        /// The corresponding C constant is `EPOLLHUP`.
        public static var hangUp: Events { Events(rawValue: EPOLLHUP.rawValue) }
        /// Every new event is reported once, whether or not it was dealt with.
        ///
        /// The corresponding C constant is `EPOLLET`.
        public static var edgeTriggered: Events { Events(rawValue: EPOLLET.rawValue) }
        /// The descriptor is in error.
        ///
        /// The corresponding C constant is `EPOLLERR`.
        public static var error: Events { Events(rawValue: EPOLLERR.rawValue) }
    }

    private let descriptor: OwnedDescriptor

    /// Makes an empty set, closed on exec.
    ///
    /// The corresponding C function is `epoll_create1`.
    ///
    /// - Throws: The error of the call: `EMFILE`, `ENFILE` or `ENOMEM`.
    public init() throws(Errno) {
        let number = try SystemCall.checked { epoll_create1(CInt(EPOLL_CLOEXEC)) }
        descriptor = OwnedDescriptor(takingOver: number)
    }

    /// The number of the descriptor, which can be in another set.
    public var rawValue: CInt { descriptor.rawValue }

    /// Puts a descriptor into the set.
    ///
    /// The corresponding C function is `epoll_ctl` with `EPOLL_CTL_ADD`.
    ///
    /// - Parameters:
    ///   - number: The descriptor.
    ///   - events: What to wait for.
    ///   - token: What is reported with its events.
    /// - Throws: The error of the call: `EPERM` for what cannot be polled, `EBADF`, `EEXIST`, `ENOSPC`, `ENOMEM`.
    public func add(_ number: CInt, events: Events, token: UInt64) throws(Errno) {
        try control(EPOLL_CTL_ADD, number, events: events, token: token)
    }

    /// Changes what is waited for.
    ///
    /// The corresponding C function is `epoll_ctl` with `EPOLL_CTL_MOD`.
    ///
    /// - Parameters:
    ///   - number: A descriptor of the set.
    ///   - events: What to wait for.
    ///   - token: What is reported with its events.
    /// - Throws: The error of the call: `ENOENT` or `EBADF` when the descriptor was closed meanwhile.
    public func modify(_ number: CInt, events: Events, token: UInt64) throws(Errno) {
        try control(EPOLL_CTL_MOD, number, events: events, token: token)
    }

    /// Takes a descriptor out of the set.
    ///
    /// The corresponding C function is `epoll_ctl` with `EPOLL_CTL_DEL`.
    ///
    /// - Parameter number: A descriptor of the set.
    /// - Throws: The error of the call: `ENOENT` or `EBADF` when the descriptor was closed meanwhile.
    public func remove(_ number: CInt) throws(Errno) {
        try control(EPOLL_CTL_DEL, number, events: [], token: 0)
    }

    private func control(_ operation: CInt, _ number: CInt, events: Events, token: UInt64) throws(Errno) {
        try SystemCall.checked {
            var event = unsafe epoll_event(events: events.rawValue, data: epoll_data_t(u64: token))
            return unsafe epoll_ctl(descriptor.rawValue, operation, number, &event)
        }
    }

    /// Takes the events of the descriptors that are ready.
    ///
    /// The corresponding C function is `epoll_wait`. There is no limit of time: a `TimerDescriptor` in the set is exact.
    /// A call that a signal handler interrupts returns with an empty queue.
    ///
    /// - Parameters:
    ///   - queue: Takes the events; must be empty.
    ///   - blocks: Whether to sleep until there is one.
    public func wait(into queue: inout EventQueue, blocks: Bool) {
        let count: CInt
        do {
            count = try SystemCall.checked(retryOnInterrupt: false) {
                unsafe epoll_wait(descriptor.rawValue, queue.storage, CInt(EventQueue.capacity), blocks ? -1 : 0)
            }
        } catch .interrupted {
            count = 0
        } catch {
            // EBADF, EFAULT and EINVAL: a mistake in this module.
            preconditionFailure("epoll_wait failed: \(error)")
        }
        queue.fill(count: Int(count))
    }
}
