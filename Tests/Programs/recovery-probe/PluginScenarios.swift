import CrashCapture
import Glibc

/// A library that the tests make, and that the probe loads and unloads.
enum Plugin {
    /// What dlopen(3) gave last.
    @MainActor static var handle: UnsafeMutableRawPointer?

    /// Where it lies: the first word of what the handle points to (link_map of link.h).
    @MainActor static var base: UInt { handle?.load(as: UInt.self) ?? 0 }

    /// Loads the library that a variable of the environment names.
    @MainActor
    static func load(_ variable: String) {
        guard let path = getenv(variable) else { fatalError("no \(variable)") }
        handle = dlopen(path, RTLD_NOW)
        precondition(handle != nil, "the plugin cannot be loaded")
    }
}

extension Probe {
    /// Another library takes the place of one that is unloaded, and faults.
    func reloadedLibrary() {
        perform {
            // Or libunwind, which it loads, would take the place.
            CrashCapture.awaitCrashThread()
            let place = Plugin.base
            if let handle = Plugin.handle { dlclose(handle) }
            Plugin.load("PLUGIN_TWO")
            Probe.say("same place \(Plugin.base == place)")
            let fault = dlsym(Plugin.handle, "plugin_fault_two")
            unsafeBitCast(fault, to: (@convention(c) () -> Void).self)()
        }
        finishNever()
    }
}
