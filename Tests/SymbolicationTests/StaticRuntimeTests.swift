import Testing

@testable import Symbolication

/// Programs with a static standard library, made up: functions 16 bytes apart.
@Suite struct StaticRuntimeTests {
    private struct Program {
        var functions: [StaticRuntime.Function] = []

        init(_ package: [String], _ toolchain: [String]) {
            add("_start", isGlobal: true)
            for name in package { add(name, isGlobal: !name.hasPrefix("local")) }
            for name in toolchain { add(name, isGlobal: false) }
        }

        private mutating func add(_ name: String, isGlobal: Bool) {
            functions.append(
                StaticRuntime.Function(start: UInt64(16 * functions.count), name: name, isGlobal: isGlobal)
            )
        }

        var runtime: StaticRuntime? { StaticRuntime(functions, end: UInt64(16 * functions.count)) }

        func origin(_ name: String) -> FunctionOrigin? {
            guard let function = functions.first(where: { $0.name == name }) else { return .unknown }
            return runtime?.origin(of: function)
        }
    }

    private static let package = ["main", "local function", "$s3App4loadyyF", "local copy", "hf_package_end"]
    private static let core = [
        "$s17SwiftOnoneSupport3allyyF", "$sSayxSicigSi_Tg5", "$ss5printyyF",
        "$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_A2HSus6UInt32VtF", "closure in C",
        "swift_retain", "swift_task_exitThreadLocalContext", "swift_errorInMain", "_ZN5swift8metadataEv",
    ]
    private static let tasks = ["$sScF7enqueueyyScJF", "swift_job_run", "_ZN5swift3runEv"]
    private static let others = ["llvm_something", "$s20FoundationEssentials4DateV3nowACvgZ", "dispatch_async"]

    private static let program = Program(package, core + tasks + others)

    @Test(arguments: package)
    func `What lies up to Holdfast's last function is the package's`(name: String) {
        #expect(Self.program.runtime != nil)
        #expect(Self.program.origin(name) == nil)
    }

    @Test(
        arguments: [
            ("$s17SwiftOnoneSupport3allyyF", .swiftCore), ("$sSayxSicigSi_Tg5", .swiftCore),
            ("$ss5printyyF", .swiftCore),
            ("closure in C", .swiftCore), ("swift_retain", .swiftCore),
            ("swift_task_exitThreadLocalContext", .swiftCore),
            ("_ZN5swift8metadataEv", .swiftCore), ("swift_errorInMain", .errorInMain),
            ("$ss17_assertionFailure__4file4line5flagss5NeverOs12StaticStringV_A2HSus6UInt32VtF", .swiftFailure),
            ("$sScF7enqueueyyScJF", .taskRuntime), ("swift_job_run", .taskRuntime), ("_ZN5swift3runEv", .taskRuntime),
            ("llvm_something", .library), ("$s20FoundationEssentials4DateV3nowACvgZ", .library),
            ("dispatch_async", .library), ("_start", .library),
        ] as [(String, FunctionOrigin)]
    )
    func `What lies behind it is known by its archive`(name: String, origin: FunctionOrigin) {
        #expect(Self.program.origin(name) == origin)
    }

    @Test func `Another order of the archives is as good`() {
        let program = Program(Self.package, Self.others + Self.tasks + Self.core.dropFirst(2))
        #expect(program.origin("swift_retain") == .swiftCore && program.origin("swift_job_run") == .taskRuntime)
        #expect(program.origin("dispatch_async") == .library && program.origin("main") == nil)
    }

    @Test func `Where a linker has changed the order, nothing is known`() {
        // A function of the package behind the end: it alone is exported.
        var moved = Self.program
        moved.functions[moved.functions.count - 1].isGlobal = true
        #expect(moved.runtime == nil)
        // One of the toolchain's in between.
        #expect(Program(["main", "local function", "hf_package_end"], []).runtime == nil)
        var mixed = Program(Self.package, Self.core)
        mixed.functions[2].name = "dispatch_semaphore_wait"
        #expect(mixed.runtime == nil)
        // Nobody says where the package ends.
        #expect(Program(["main"], Self.core).runtime == nil)
        #expect(Program(["hf_package_end"], Self.core).runtime == nil)
        #expect(StaticRuntime([], end: 0) == nil)
    }
}
