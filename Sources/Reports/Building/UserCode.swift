internal import Symbolication

/// Tells the user's own functions from those of the standard library, of Holdfast and of other packages that are linked into the same
/// executable.
package enum UserCode {
    /// `thunk for` is the brief form of a reabstraction thunk.
    private static let glue = ["reabstraction thunk", "thunk for @", "partial apply forwarder", "protocol witness for"]

    /// Whether a frame of the executable is the user's.
    static func contains(_ frame: SymbolicatedFrame) -> Bool {
        guard let name = frame.rawName ?? frame.function, !frame.isRuntimeFailure, !frame.isThunk, !frame.isData else {
            return false
        }
        // A specialised thunk is glue, too, but not by its last letters.
        if let function = frame.function, glue.contains(where: { function.holds($0) }) { return false }
        if name == "_start" || FrameOwner.isHost(name) { return false }
        // Without debug information, a package of somebody else looks as one of the user's does.
        if let file = frame.file, FrameOwner.fetchedPackage(of: file) != nil { return false }
        guard name.hasPrefix("$s") else { return !isRuntime(name) }
        return !isStandardLibrary(name.dropFirst(2)) && !isOfToolchain(name.dropFirst(2))
    }

    /// Functions in C and C++ of a static standard library.
    private static func isRuntime(_ name: String) -> Bool {
        ["swift_", "_swift_", "_ZN5swift", "_ZNK5swift", "dispatch_", "_dispatch_"].contains(where: name.hasPrefix)
    }

    /// Modules whose names only the toolchain's libraries have, when they are static.
    private static func isOfToolchain(_ mangled: Substring) -> Bool {
        ["12_Concurrency", "15Synchronization", "17SwiftOnoneSupport", "17_StringProcessing", "12_RegexParser"]
            .contains(where: mangled.hasPrefix)
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
