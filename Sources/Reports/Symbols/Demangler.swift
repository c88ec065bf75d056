internal import Glibc

/// Turns linker names into names for readers.
package enum Demangler {
    /// Longer names are left as they are: demangling can grow a hostile name without bound.
    private static let longestName = 16384

    /// Demangles a Swift or C++ name.
    ///
    /// Safe to call from any thread.
    ///
    /// - Parameter name: The name for linkers.
    /// - Returns: The name for readers, or the same name when it is not mangled.
    package static func demangle(_ name: String) -> String {
        guard name.utf8.count <= longestName else { return name }
        if swiftPrefixes.contains(where: name.hasPrefix) {
            return unsafe take(name) { unsafe swiftDemangle($0, UInt($1), nil, nil, 0) } ?? name
        }
        guard name.hasPrefix("_Z"), let function = unsafe cxxDemangle else { return name }
        var status: CInt = 0
        return unsafe take(name) { text, _ in unsafe function(text, nil, nil, &status) } ?? name
    }

    /// Demangles a name as briefly as a stack is read: without modules, return types and generic arguments.
    ///
    /// Safe to call from any thread.
    ///
    /// - Parameter name: The name for linkers.
    /// - Returns: Such as `Agent.answer(_:)`, or what `demangle(_:)` gives where there is no brief form.
    package static func brief(_ name: String) -> String {
        // What the C library calls its functions within itself (glibc, include/libc-symbols.h): only debug files tell.
        if name.hasPrefix("__GI_") { return String(name.dropFirst(5)) }
        guard name.utf8.count <= longestName, swiftPrefixes.contains(where: name.hasPrefix) else {
            return demangle(name)
        }
        let text = unsafe take(name) { unsafe backtraceDemangle($0, UInt($1), nil, nil) }
        guard let text, text != name else { return demangle(name) }
        // What a closure of top-level code is written in is its module, which is left out here.
        return text.hasSuffix(" in ") ? String(text.dropLast(4)) : text
    }

    /// Whether a linker name is that of glue which the Swift compiler made and which only calls another function.
    ///
    /// - Parameter name: The name for linkers.
    /// - Returns: True for partial application forwarders, reabstraction thunks, protocol witnesses and dispatch thunks.
    static func isThunk(_ name: String) -> Bool {
        guard swiftPrefixes.contains(where: name.hasPrefix) else { return false }
        // What LLVM appends (".llvm.123", ".cold") is not part of the mangling.
        var mangled = name.prefix { $0 != "." }
        // One part of an asynchronous function: TY<n>_ after a suspension, TQ<n>_ after a call.
        if mangled.hasSuffix("_"), let part = mangled.dropLast().lastIndex(where: { !$0.isNumber }),
            mangled[...part].hasSuffix("TY") || mangled[...part].hasSuffix("TQ")
        {
            mangled = mangled[...part].dropLast(2)
        }
        return thunkSuffixes.contains(where: mangled.hasSuffix)
    }

    private static let swiftPrefixes = ["$s", "_$s", "$S", "_$S", "$e", "_$e", "_T0"]

    private static let thunkSuffixes = ["TA", "Ta", "To", "TO", "TR", "Tr", "TW", "Tj", "TV", "Tc"]

    /// Calls a demangler, which allocates what it returns, and frees that.
    private static func take(
        _ name: String,
        _ function: (UnsafePointer<CChar>, Int) -> UnsafeMutablePointer<CChar>?
    ) -> String? {
        unsafe name.withCString { text in
            guard let allocated = unsafe function(text, name.utf8.count) else { return nil }
            defer { unsafe free(allocated) }
            return unsafe String(cString: allocated)
        }
    }
}

/// The Swift runtime's own demangler, exported by the standard library.
@_silgen_name("swift_demangle")
private func swiftDemangle(
    _ name: UnsafePointer<CChar>?,
    _ length: UInt,
    _ output: UnsafeMutablePointer<CChar>?,
    _ outputSize: UnsafeMutablePointer<UInt>?,
    _ flags: UInt32
) -> UnsafeMutablePointer<CChar>?

private typealias CxxDemangle =
    @convention(c) (
        UnsafePointer<CChar>?, UnsafeMutablePointer<CChar>?, UnsafeMutablePointer<Int>?, UnsafeMutablePointer<CInt>?
    ) -> UnsafeMutablePointer<CChar>?

/// The C++ runtime's demangler, looked up because a process may well have no C++ runtime.
private let cxxDemangle: CxxDemangle? = {
    guard let address = unsafe dlsym(nil, "__cxa_demangle") else { return nil }
    return unsafe unsafeBitCast(address, to: CxxDemangle.self)
}()

/// What Swift's own backtracer demangles with (swift/stdlib/public/runtime/Backtrace.cpp): not public ABI, but there since it has a backtracer.
///
/// Named here and not looked up: a static standard library has only those of its functions in the program that something names.
@_silgen_name("_swift_backtrace_demangle")
private func backtraceDemangle(
    _ name: UnsafePointer<CChar>?,
    _ length: UInt,
    _ output: UnsafeMutablePointer<CChar>?,
    _ outputSize: UnsafeMutablePointer<UInt>?
) -> UnsafeMutablePointer<CChar>?
