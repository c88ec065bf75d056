internal import CrashReports

/// Tells the user's own functions from those of the standard library and of Holdfast that are linked into the same executable.
enum UserCode {
    /// Modules of ours, as their names stand in mangled names.
    private static let ownModules = [
        "8Holdfast", "8RunLoops", "11Supervision", "12CrashCapture", "12CrashReports", "13Symbolication",
        "11LinuxSystem",
    ]

    /// `thunk for` is the brief form of a reabstraction thunk.
    private static let glue = ["reabstraction thunk", "thunk for @", "partial apply forwarder", "protocol witness for"]

    /// Functions of the threads library before which ones of ours stand in the executable (lock_tracking.c, thread_start.c).
    private static let standIns = [
        "pthread_mutex_", "pthread_rwlock_", "pthread_spin_", "pthread_create", "flockfile", "ftrylockfile",
        "funlockfile", "mtx_",
    ]

    /// Whether a frame of the executable is the user's.
    static func contains(_ frame: SymbolicatedFrame) -> Bool {
        guard let name = frame.rawName ?? frame.function, !frame.isRuntimeFailure, !frame.isThunk, !frame.isData else {
            return false
        }
        // A specialised thunk is glue, too, but not by its last letters.
        if let function = frame.function, glue.contains(where: { function.contains($0) }) { return false }
        if name.hasPrefix("hf_") || name == "_start" { return false }
        if standIns.contains(where: { name.hasPrefix($0) }) { return false }
        guard name.hasPrefix("$s") else { return true }
        let mangled = name.dropFirst(2)
        if ownModules.contains(where: { mangled.hasPrefix($0) }) { return false }
        return !isStandardLibrary(mangled)
    }

    /// `s` is the module Swift, and `S` with a letter one of its types; an `E` after a module's name is an extension by that
    /// module (swift/docs/ABI/Mangling.rst).
    private static func isStandardLibrary(_ mangled: Substring) -> Bool {
        guard let first = mangled.first, first == "s" || first == "S" else { return false }
        // SC and So are names that come from C, which are the user's or a library's, not the standard library's.
        if mangled.hasPrefix("So") || mangled.hasPrefix("SC") { return false }
        return !isExtensionElsewhere(mangled.dropFirst(2))
    }

    private static func isExtensionElsewhere(_ rest: Substring) -> Bool {
        let digits = rest.prefix { $0.isASCII && $0.isNumber }
        guard let length = Int(digits), length > 0, length < rest.count - digits.count else { return false }
        return rest.dropFirst(digits.count + length).first == "E"
    }
}
