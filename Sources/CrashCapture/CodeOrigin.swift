/// Which compiler a function of the executable comes from, as far as the verdict needs to know.
///
/// Libraries that are linked statically are a part of the executable: their code is told from the application's by its origin.
public enum CodeOrigin: UInt8, Sendable {
    /// Swift.
    case swift
    /// Another language, of a module or function that the policy vouches for.
    case trusted
    /// Another language: C, C++, assembly.
    case native
    /// It cannot be told, as in a program without symbols.
    case unknown
    /// Nobody has looked yet.
    case pending
}

/// What the crash thread asks about functions of the executable.
@safe
public struct CodeInspection: Sendable {
    /// Tells where a function comes from.
    let origin: @Sendable (UInt64) -> CodeOrigin
    /// Has the origins looked up now.
    let prepare: @Sendable () -> Void
    /// Tells whether a stack may hold a lock that nobody counts.
    let isInLockFrame: @Sendable (UnsafeBufferPointer<UInt64>) -> Bool

    /// Makes one.
    ///
    /// - Parameters:
    ///   - origin: The origin of the function at an address. Called on the crash thread for each frame: must not allocate or lock.
    ///   - prepare: Makes an end of `pending`. Called on the crash thread while the thread that faulted is parked, after its stack was
    ///     found to hold no library's frame: may allocate and read files.
    ///   - isInLockFrame: Whether one of the program counters, innermost first, is in a function that may hold a lock which cannot be
    ///     counted. Called like `prepare`.
    public init(
        origin: @escaping @Sendable (UInt64) -> CodeOrigin,
        prepare: @escaping @Sendable () -> Void = {},
        isInLockFrame: @escaping @Sendable (UnsafeBufferPointer<UInt64>) -> Bool
    ) {
        self.origin = origin
        self.prepare = prepare
        unsafe self.isInLockFrame = isInLockFrame
    }

    /// Takes all code of the executable for Swift's, and clears every lock: for tests of other things.
    package static var trustingAll: CodeInspection {
        unsafe CodeInspection(origin: { _ in .swift }, isInLockFrame: { _ in false })
    }
}
