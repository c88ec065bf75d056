package import Symbolication

/// The language that a function of the executable was compiled from, as far as the verdict needs to know.
///
/// Static libraries are a part of the executable: the origin of their code tells it from the application's.
package enum CodeOrigin: UInt8, Sendable {
    /// Swift.
    case swift
    /// Another language, in a module or function that the policy trusts.
    case trusted
    /// Another language: C, C++, assembly.
    case native
    /// A Swift function, at a place where a function in another language was inlined.
    case inlinedNative
    /// The same, at a place where Swift was in turn inlined into that function.
    case withinNative
    /// A function by which the runtime of a static standard library ends a process whose own code is at fault.
    case swiftFailure
    /// That by which it ends a program with an error that nobody caught.
    case errorInMain
    /// Any other function of the library's core.
    case swiftCore
    /// A function of its part for tasks.
    case taskRuntime
    /// A function of another archive of the toolchain's.
    case library
    /// Not known, as in a program without symbols.
    case unknown
    /// Not looked up yet, or it could not be.
    case pending
}

/// Whether a stack may hold a lock that is not counted.
package enum UncountedLock: Sendable {
    /// It does not.
    case none
    /// It may.
    case mayBeHeld
    /// Not known: the program's file, or its debug information, could not be read.
    case unread
}

/// The questions of the crash thread about functions of the executable.
@safe
package struct CodeInspection: Sendable {
    /// Returns where a function comes from.
    let origin: @Sendable (UInt64) -> CodeOrigin
    /// Looks the origins up now.
    let prepare: @Sendable () -> Void
    /// The guards of the executable's thread-local variables; nil if they were not looked up yet, or could not be.
    let threadLocalGuards: @Sendable () -> ThreadLocalGuards?
    /// Whether the standard library is a part of the executable.
    let isStatic: Bool
    /// Whether a stack may hold a lock that is not counted.
    let uncountedLock: @Sendable (UnsafeBufferPointer<UInt64>) -> UncountedLock

    /// Makes one.
    ///
    /// - Parameters:
    ///   - origin: The origin of the function at an address. Called on the crash thread for each frame: must not allocate or lock.
    ///   - prepare: Looks up origins that are `pending`, unless the files cannot be read. Called on the crash thread while the thread that
    ///     faulted is parked, after its stack was found to hold no library's frame: may allocate and read files.
    ///   - threadLocalGuards: The guards of the executable's thread-local variables, once the origins were looked up. Called like `origin`.
    ///   - isStatic: Whether the standard library is a part of the executable.
    ///   - uncountedLock: Whether one of the program counters, innermost first, is in a function that may hold a lock which is not
    ///     counted. Called like `prepare`.
    package init(
        origin: @escaping @Sendable (UInt64) -> CodeOrigin,
        prepare: @escaping @Sendable () -> Void = {},
        threadLocalGuards: @escaping @Sendable () -> ThreadLocalGuards? = { nil },
        isStatic: Bool = false,
        uncountedLock: @escaping @Sendable (UnsafeBufferPointer<UInt64>) -> UncountedLock
    ) {
        self.origin = origin
        self.prepare = prepare
        self.threadLocalGuards = threadLocalGuards
        self.isStatic = isStatic
        unsafe self.uncountedLock = uncountedLock
    }

    /// Takes all code of the executable for Swift's, and finds no lock: for tests of other things.
    package static var trustingAll: CodeInspection {
        unsafe CodeInspection(origin: { _ in .swift }, uncountedLock: { _ in .none })
    }
}
