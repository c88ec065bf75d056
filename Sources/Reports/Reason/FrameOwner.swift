/// Whose function a frame is.
///
/// SwiftPM links packages into the executable, so the image alone does not tell.
package enum FrameOwner: Sendable, Hashable {
    /// The program's own code.
    case program
    /// Holdfast, linked into the program.
    case host
    /// Code that the compiler made: thunks, checks, the start of the program.
    case compiler
    /// A package that was linked into the program, or a library, by its name.
    case named(String)
    /// Nobody knows.
    case unknown

    /// Modules of Holdfast, as their names stand in mangled names (swift/docs/ABI/Mangling.rst).
    private static let hostModules = [
        "8Holdfast", "8RunLoops", "10HoldfastIO", "11LinuxSystem", "12CrashCapture", "12CrashReports",
        "13Symbolication", "14StallDetection", "14TaskBoundaries", "11HoldfastNIO", "19HoldfastHummingbird",
        "12HoldfastGRPC", "15HoldfastMetrics", "15HoldfastTracing", "24HoldfastServiceLifecycle",
    ]

    /// Functions of Holdfast that stand before those of the C library of the same name (lock_tracking.c, signal_mask.c, …).
    private static let standIns: Set<String> = [
        "dlclose", "flockfile", "ftrylockfile", "funlockfile", "sigaction", "signal", "sigprocmask", "sigwait",
        "sigwaitinfo", "sigtimedwait", "sem_wait", "sem_trywait", "sem_timedwait", "sem_clockwait", "sem_post",
        "dispatch_semaphore_wait", "dispatch_semaphore_signal", "dispatch_group_enter", "dispatch_group_leave",
        "dispatch_suspend", "dispatch_resume",
        // In Swift (EventHost+Tasks.swift).
        "holdfast_drain_main_queue",
    ]
    private static let standInPrefixes = ["hf_", "pthread_", "mtx_"]

    /// Where SwiftPM and Xcode put the sources of the packages that a package needs.
    private static let packageFolders = ["/.build/checkouts/", "/SourcePackages/checkouts/"]
    /// The same for packages of a registry, behind which come their scope, their name and their version.
    private static let registryFolder = "/.build/registry/downloads/"

    /// Whether a function of the executable is Holdfast's.
    ///
    /// - Parameter rawName: The function's name for linkers.
    /// - Returns: Whether it is.
    package static func isHost(_ rawName: String) -> Bool {
        if rawName.hasPrefix("$s") { return hostModules.contains { rawName.dropFirst(2).hasPrefix($0) } }
        return standIns.contains(rawName) || standInPrefixes.contains(where: rawName.hasPrefix)
    }

    /// The package that a source file was fetched with, if it is not of the program's own.
    ///
    /// - Parameter file: The path of the file, as the compiler recorded it.
    /// - Returns: The name of the package; nil for the program's own sources, and for those of packages that lie beside it.
    package static func fetchedPackage(of file: String) -> String? {
        for folder in packageFolders {
            guard let range = file.firstPlace(of: folder) else { continue }
            return file[range.upperBound...].split(separator: "/").first.map(String.init)
        }
        guard let range = file.firstPlace(of: registryFolder) else { return nil }
        let parts = file[range.upperBound...].split(separator: "/")
        return parts.count > 2 ? String(parts[1]) : nil
    }

    /// Tells whose function a frame is.
    ///
    /// - Parameter frame: The frame; may come from anywhere.
    package init(of frame: CrashReport.Frame) {
        if frame.runtimeFailure != nil {
            self = .compiler
        } else if frame.isUserCode {
            self = .program
        } else if frame.image == 0, let name = frame.rawName, Self.isHost(name) {
            self = .host
        } else if frame.image == 0, let package = frame.file.flatMap(Self.fetchedPackage) {
            self = .named(package)
        } else if frame.image == 0, let name = frame.rawName {
            // What is left of the executable: copies of functions of the standard library, and glue.
            let module = name.hasPrefix("$ss") || name.hasPrefix("$sS") ? "the Swift standard library" : nil
            self = (module ?? UserCode.toolchainModule(of: name)).map(Self.named) ?? .compiler
        } else if let image = frame.imageName {
            self = .named(Self.libraryName(image))
        } else {
            self = .unknown
        }
    }

    /// The name of a library without its version: `libc` for `libc.so.6`.
    private static func libraryName(_ image: String) -> String {
        guard let end = image.firstPlace(of: ".so")?.lowerBound, end > image.startIndex else { return image }
        return String(image[..<end])
    }

    /// What it is called in a sentence: `3 frames of libc`.
    package var name: String {
        switch self {
        case .program: "the program"
        case .host: "Holdfast"
        case .compiler: "the compiler"
        case .named(let name): name
        case .unknown: "unknown code"
        }
    }
}
