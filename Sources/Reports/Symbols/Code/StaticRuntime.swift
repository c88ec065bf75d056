/// Which code of a program with a static standard library (`--static-swift-stdlib`) is the toolchain's.
///
/// The linker puts the objects of the package one behind the other, and the archives of the toolchain behind them, each as one long run.
/// The package ends at a function of Holdfast's (`package_end.h`). The toolchain's functions are not exported (`--exclude-libs ALL`), so
/// those that are tell whether that holds in this program: if one of them lies elsewhere, nothing of it is known.
struct StaticRuntime {
    /// What is looked at of a function.
    struct Function {
        var start: UInt64
        var name: String
        var isGlobal: Bool
    }

    /// The last function of the package.
    static let endName = "hf_package_end"
    /// A function that every Swift program has, in libswiftCore.
    static let anchorName = "swift_retain"
    /// The same in libswift_Concurrency.
    private static let taskAnchorName = "swift_job_run"

    private let package: Range<UInt64>
    /// Where the section with all of it ends.
    let end: UInt64
    private let core: Range<UInt64>
    /// The standard library's generics as -Onone builds call them: the same code, specialised, in an archive of its own.
    private let specialised: Range<UInt64>
    private let tasks: Range<UInt64>

    /// Finds the parts of a program; nil if they do not lie as they should.
    ///
    /// - Parameters:
    ///   - functions: All functions of its section `.text`, by start.
    ///   - end: Where the section ends.
    init?(_ functions: [Function], end: UInt64) {
        guard let last = functions.first(where: { $0.name == Self.endName && $0.isGlobal }),
            let anchor = functions.firstIndex(where: { $0.name == Self.anchorName }),
            let first = functions.first(where: { $0.isGlobal && !$0.name.hasPrefix("_start") }),
            first.start < last.start
        else { return nil }
        package = first.start..<last.start + 1
        self.end = end
        for function in functions {
            let isInside = package.contains(function.start)
            guard
                function.isGlobal
                    ? isInside || function.name.hasPrefix("_start") : !isInside || !Self.isToolchain(function.name)
            else { return nil }
        }
        guard functions[anchor].start > last.start else { return nil }
        core = Self.run(of: .core, around: anchor, in: functions, until: end)
        specialised = Self.specialised(in: functions)
        let task = functions.firstIndex { $0.name == Self.taskAnchorName }
        tasks = task.map { Self.run(of: .tasks, around: $0, in: functions, until: end) } ?? 0..<0
    }

    private enum Archive {
        case core
        case tasks
        case other
    }

    /// Functions without which there is no such archive, and which are in no other.
    private static func isToolchain(_ name: String) -> Bool { toolchain.contains(name) }

    private static let toolchain: Set<String> = [
        anchorName, "swift_release", "swift_allocObject", "swift_getGenericMetadata", "swift_dynamicCast",
        "swift_beginAccess",
        taskAnchorName, "swift_task_create", "swift_task_switch", "dispatch_async", "dispatch_semaphore_wait",
    ]

    /// Which archive a function is surely of; nil where its name does not tell.
    ///
    /// A module is told by its name with the length before it, and `Sc` stands for _Concurrency (swift/docs/ABI/Mangling.rst). `s` and `S`
    /// with another letter stand for the module Swift, but any object may have a copy of one of its functions.
    private static func archive(of name: String) -> Archive? {
        // Of Exclusivity.cpp, in libswiftCore.
        if name.hasSuffix("ThreadLocalContext") || name == anchorName { return .core }
        if taskStarts.contains(where: name.hasPrefix) { return .tasks }
        return otherStarts.contains(where: name.hasPrefix) ? .other : nil
    }

    private static let taskStarts = [
        "$sSc", "$s12_Concurrency", "swift_task_", "swift_job_", "swift_taskGroup_", "swift_asyncLet_",
        "swift_continuation_",
    ]
    private static let otherStarts =
        [
            "17SwiftOnoneSupport", "17_StringProcessing", "12_RegexParser", "12RegexBuilder", "15Synchronization",
            "8Dispatch", "5Glibc",
            "10Foundation", "20FoundationEssentials", "30FoundationInternationalization", "20FoundationNetworking",
            "13FoundationXML",
            "11Distributed", "11Observation", "9_Volatile", "3Cxx", "9CxxStdlib",
        ].map { "$s" + $0 } + ["dispatch_", "_dispatch_"]

    /// The run of functions around one that no other archive has a part in.
    ///
    /// An archive of the runtime's begins with Swift's code and ends with that in C++. So behind the last function in C++ the next archive
    /// begins, and before the first one in Swift the one before has ended.
    private static func run(
        of archive: Archive,
        around index: Int,
        in functions: [Function],
        until end: UInt64
    ) -> Range<UInt64> {
        /// The last function of a kind, in a direction.
        func last(in indices: some Sequence<Int>, _ isOfKind: (String) -> Bool) -> Int {
            var last = index
            for index in indices {
                let name = functions[index].name
                if let found = Self.archive(of: name), found != archive { break }
                if isOfKind(name) { last = index }
            }
            return last
        }
        let first = last(in: (0..<index).reversed()) { $0.hasPrefix("$s") }
        let next = last(in: functions.indices[(index + 1)...]) { name in
            ["_ZN5swift", "_ZNK5swift", "swift_", "_swift_"].contains(where: name.hasPrefix)
        }
        return functions[first].start..<(next + 1 < functions.count ? functions[next + 1].start : end)
    }

    /// From the first function of SwiftOnoneSupport to the last one behind it that is Swift's, and of no other archive.
    private static func specialised(in functions: [Function]) -> Range<UInt64> {
        let isSpecialised: (Function) -> Bool = { $0.name.hasPrefix("$s17SwiftOnoneSupport") }
        guard let first = functions.firstIndex(where: isSpecialised) else { return 0..<0 }
        let end = functions[first...].first { function in
            !isSpecialised(function) && (archive(of: function.name) != nil || !function.name.hasPrefix("$s"))
        }
        return functions[first].start..<(end?.start ?? functions[first].start)
    }

    /// The last address of the package.
    var packageEnd: UInt64 { package.upperBound - 1 }

    /// Where a function comes from that is not the package's; nil for one of the package's.
    func origin(of function: Function) -> FunctionOrigin? {
        if package.contains(function.start) { return nil }
        guard function.start > package.lowerBound else { return .library }
        if RuntimeFunctions.errorInMain.contains(function.name) { return .errorInMain }
        if RuntimeFunctions.failures.contains(function.name) { return .swiftFailure }
        if core.contains(function.start) || specialised.contains(function.start) { return .swiftCore }
        return tasks.contains(function.start) ? .taskRuntime : .library
    }
}

/// Functions of the Swift runtime, by their symbols.
package enum RuntimeFunctions {
    /// How the Swift runtime ends a process whose own code is at fault (swift/stdlib/public/core/AssertCommon.swift,
    /// swift/stdlib/public/runtime/Casting.cpp and Exclusivity.cpp).
    ///
    /// No lock of the runtime is held when they are called.
    package static let failures = [
        // _assertionFailure(_:_:file:line:flags:), with a StaticString and with a String as message
        "$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_A2HSus6UInt32VtF",
        "$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_SSAHSus6UInt32VtF",
        "$ss17_assertionFailure__5flagss5NeverOs12StaticStringV_SSs6UInt32VtF",
        "$ss18_fatalErrorMessage__4file4line5flagss5NeverOs12StaticStringV_A2HSus6UInt32VtF",
        "$ss23_fatalErrorFlagsMessage__4file4line5flagss5NeverOs12StaticStringV_A2HSus6UInt32VtF",
        "swift_unexpectedError",
        "swift_beginAccess",
        "swift_dynamicCast",
        "swift_dynamicCastClassUnconditional",
        "swift_dynamicCastUnknownClassUnconditional",
        "swift_deletedMethodError",
        "swift_abortRetainUnowned",
        "swift_unownedCheck",
        "swift_unownedRetainStrong",
        "swift_unownedRetainStrongAndRelease",
    ]

    /// How it ends a program whose main function or top level throws (swift/stdlib/public/core/ErrorType.swift).
    package static let errorInMain = ["swift_errorInMain"]
}
