package import Symbolication

/// Which compiler a function of the executable comes from, as far as the verdict needs to know.
///
/// Libraries that are linked statically are a part of the executable: their code is told from the application's by its origin.
package enum CodeOrigin: UInt8, Sendable {
    /// Swift.
    case swift
    /// Another language, of a module or function that the policy vouches for.
    case trusted
    /// Another language: C, C++, assembly.
    case native
    /// Swift, but the very code is of a function in another language that was inlined there.
    case inlinedNative
    /// The same, and into that function Swift was inlined in turn, which is the very code.
    case withinNative
    /// It cannot be told, as in a program without symbols.
    case unknown
    /// Nobody has looked yet, or nobody could.
    case pending
}

/// Whether a stack may hold a lock that nobody counts.
package enum UncountedLock: Sendable {
    /// It does not.
    case none
    /// It may.
    case mayBeHeld
    /// It cannot be told: the program's file could not be read.
    case unread
}

/// What the crash thread asks about functions of the executable.
@safe
package struct CodeInspection: Sendable {
    /// Tells where a function comes from.
    let origin: @Sendable (UInt64) -> CodeOrigin
    /// Has the origins looked up now.
    let prepare: @Sendable () -> Void
    /// The guards of the executable's thread-local variables; nil where nobody has looked yet, or nobody could.
    let threadLocalGuards: @Sendable () -> ThreadLocalGuards?
    /// Tells whether a stack may hold a lock that nobody counts.
    let uncountedLock: @Sendable (UnsafeBufferPointer<UInt64>) -> UncountedLock

    /// Makes one.
    ///
    /// - Parameters:
    ///   - origin: The origin of the function at an address. Called on the crash thread for each frame: must not allocate or lock.
    ///   - prepare: Makes an end of `pending`, unless the files cannot be read. Called on the crash thread while the thread that
    ///     faulted is parked, after its stack was found to hold no library's frame: may allocate and read files.
    ///   - threadLocalGuards: The guards of the executable's thread-local variables, once the origins were looked up. Called like `origin`.
    ///   - uncountedLock: Whether one of the program counters, innermost first, is in a function that may hold a lock which cannot be
    ///     counted. Called like `prepare`.
    package init(
        origin: @escaping @Sendable (UInt64) -> CodeOrigin,
        prepare: @escaping @Sendable () -> Void = {},
        threadLocalGuards: @escaping @Sendable () -> ThreadLocalGuards? = { nil },
        uncountedLock: @escaping @Sendable (UnsafeBufferPointer<UInt64>) -> UncountedLock
    ) {
        self.origin = origin
        self.prepare = prepare
        self.threadLocalGuards = threadLocalGuards
        unsafe self.uncountedLock = uncountedLock
    }

    /// Takes all code of the executable for Swift's, and clears every lock: for tests of other things.
    package static var trustingAll: CodeInspection {
        unsafe CodeInspection(origin: { _ in .swift }, uncountedLock: { _ in .none })
    }
}
