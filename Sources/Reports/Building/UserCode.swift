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
        guard name.hasPrefix("$s") else { return !isRuntime(name, hasFile: frame.file != nil) }
        return !isStandardLibrary(name.dropFirst(2)) && toolchainModule(of: name) == nil
    }

    /// Functions in C and C++ of a static standard library.
    private static func isRuntime(_ name: String, hasFile: Bool) -> Bool {
        let runtime = ["swift_", "_swift_", "_ZN5swift", "_ZNK5swift", "dispatch_", "_dispatch_"]
        if runtime.contains(where: name.hasPrefix) { return true }
        // CoreFoundation and its ICU, which come without debug information; a program may have names like theirs.
        return !hasFile
            && ["CF", "_CF", "__CF", "_ZN3icu", "_ZNK3icu", "_ZN6icu", "_ZNK6icu"].contains(where: name.hasPrefix)
    }

    /// Modules whose names only the toolchain's libraries have, when they are static.
    private static let toolchainModules: KeyValuePairs<String, String> = [
        "12_Concurrency": "_Concurrency", "15Synchronization": "Synchronization",
        "17SwiftOnoneSupport": "SwiftOnoneSupport", "17_StringProcessing": "_StringProcessing",
        "12_RegexParser": "_RegexParser", "10Foundation": "Foundation",
        "20FoundationEssentials": "FoundationEssentials",
        "29FoundationInternationalization": "FoundationInternationalization",
        "20FoundationNetworking": "FoundationNetworking", "13FoundationXML": "FoundationXML", "8Dispatch": "Dispatch",
        "11Observation": "Observation", "11Distributed": "Distributed",
    ]

    /// The module of the toolchain that a function of a static standard library is of.
    ///
    /// - Parameter name: The function's name for linkers.
    /// - Returns: The module's name; nil for what is of no such module, and for what a program adds to its types.
    static func toolchainModule(of name: String) -> String? {
        guard name.hasPrefix("$s") else { return nil }
        let mangled = name.dropFirst(2)
        guard let module = toolchainModules.first(where: { mangled.hasPrefix($0.key) })?.value else { return nil }
        // `(extension in MyApp):Foundation.URL.shortened`
        let mark = "(extension in "
        var rest = Substring(Demangler.demangle(name))
        while let place = rest.firstPlace(of: mark) {
            rest = rest[place.upperBound...]
            let extending = rest.prefix { $0 != ")" }
            guard toolchainModules.contains(where: { $0.value == extending }) else { return nil }
        }
        return module
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
            && !toolchainModules.contains { rest.hasPrefix($0.key) && $0.key.utf8.count == digits.utf8.count + length }
    }
}
