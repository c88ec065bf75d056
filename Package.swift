// swift-tools-version: 6.2
import PackageDescription

/// What every Swift target is built with.
let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    // SE-0335
    .enableUpcomingFeature("ExistentialAny"),
    // SE-0409
    .enableUpcomingFeature("InternalImportsByDefault"),
    // SE-0444
    .enableUpcomingFeature("MemberImportVisibility"),
    // SE-0461
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    // SE-0480
    .treatAllWarnings(as: .error),
]

/// Sources also mark every unsafe construct (SE-0458); in tests that would only be noise.
let sourceSettings = swiftSettings + [.strictMemorySafety()]

let cSettings: [CSetting] = [
    .enableWarning("all"),
    .enableWarning("extra"),
    .treatAllWarnings(as: .error),
    .define("_GNU_SOURCE"),
]

let argumentParser = Target.Dependency.product(name: "ArgumentParser", package: "swift-argument-parser")
let logging = Target.Dependency.product(name: "Logging", package: "swift-log")
/// An adapter to another library: a product of its own, whose sources count only with the trait of its name.
///
/// A package that does not enable the trait does not even fetch the library.
func adapter(
    _ trait: String,
    _ products: KeyValuePairs<String, String>,
    _ dependencies: [Target.Dependency] = []
) -> Target {
    .target(
        name: "Holdfast\(trait)",
        dependencies: ["Holdfast"] + dependencies
            + products.map { .product(name: $0, package: $1, condition: .when(traits: [trait])) },
        path: "Sources/Adapters/\(trait)",
        swiftSettings: sourceSettings
    )
}

let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

/// A program that tests start, in `Tests/Programs`.
func testProgram(
    _ name: String,
    _ dependencies: [Target.Dependency],
    packageAccess: Bool = true,
    settings: [SwiftSetting] = swiftSettings
) -> Target {
    .executableTarget(
        name: name,
        dependencies: dependencies,
        path: "Tests/Programs/\(name)",
        packageAccess: packageAccess,
        swiftSettings: settings
    )
}

/// C that tests are made with, in `Tests/Support`.
func testSupport(_ name: String, _ dependencies: [Target.Dependency] = []) -> Target {
    .target(name: name, dependencies: dependencies, path: "Tests/Support/\(name)", cSettings: cSettings)
}

/// Suites whose own code is what is tested in release: it faults, allocates or is called out to in the process of the tests.
let optimisedTests: Set = [
    "CrashCaptureTests", "LinuxSystemTests", "RecoveryPointTests", "RunLoopOracleTests", "RunLoopsTests",
    "TaskBoundariesTests",
]

/// A suite of tests, in `Tests`.
func tests(_ name: String, _ dependencies: [Target.Dependency], exclude: [String] = []) -> Target {
    // The others only call what is optimised, and optimising them would take half of the time of a release build.
    let plain = SwiftSetting.unsafeFlags(["-Onone"], .when(configuration: .release))
    return .testTarget(
        name: name,
        dependencies: dependencies,
        exclude: exclude,
        swiftSettings: swiftSettings + (optimisedTests.contains(name) ? [] : [plain])
    )
}

let package = Package(
    name: "holdfast",
    products: [
        .library(name: "Holdfast", targets: ["Holdfast"]),
        .library(name: "HoldfastIO", targets: ["HoldfastIO"]),
        .library(name: "RunLoops", targets: ["RunLoops"]),
        .library(name: "CrashReports", targets: ["CrashReports"]),
        .library(name: "HoldfastHummingbird", targets: ["HoldfastHummingbird"]),
        .library(name: "HoldfastGRPC", targets: ["HoldfastGRPC"]),
        .library(name: "HoldfastNIO", targets: ["HoldfastNIO"]),
        .library(name: "HoldfastServiceLifecycle", targets: ["HoldfastServiceLifecycle"]),
        .library(name: "HoldfastMetrics", targets: ["HoldfastMetrics"]),
        .library(name: "HoldfastTracing", targets: ["HoldfastTracing"]),
        // For Tools/fuzz, which is a package of its own. Not an interface.
        .library(name: "_ReportText", targets: ["ReportText"]),
        // For Benchmarks, the same.
        .library(name: "_FaultInjection", targets: ["FaultInjection"]),
        .library(name: "_RecoveryPoint", targets: ["CRecoveryPoint"]),
        .library(name: "_StallDetection", targets: ["StallDetection"]),
        .executable(name: "crashreport", targets: ["crashreport"]),
        .executable(name: "holdfast", targets: ["holdfast"]),
        .executable(name: "holdfast-agent", targets: ["holdfast-agent"]),
    ],
    traits: [
        .trait(name: "Hummingbird", description: "HoldfastHummingbird: a fault boundary around each request."),
        .trait(name: "GRPC", description: "HoldfastGRPC: a fault boundary around each call of a grpc-swift-2 server."),
        .trait(name: "NIO", description: "HoldfastNIO: a fault boundary around each connection."),
        .trait(name: "ServiceLifecycle", description: "HoldfastServiceLifecycle: a host in a ServiceGroup."),
        .trait(name: "Metrics", description: "HoldfastMetrics: faults, restarts and stalls for swift-metrics."),
        .trait(name: "Tracing", description: "HoldfastTracing: faults in the spans of swift-distributed-tracing."),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
        // Of the adapters.
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
    ],
    targets: [
        // The system: typed system calls, descriptors, locks.
        .target(name: "CLinuxShims", path: "Sources/System/CLinuxShims", cSettings: cSettings),
        .target(
            name: "LinuxSystem",
            dependencies: ["CLinuxShims", system],
            path: "Sources/System",
            exclude: ["CLinuxShims"],
            swiftSettings: sourceSettings
        ),

        // The bytes of a record, for who writes and who reads them.
        .target(name: "CRecordLayout", path: "Sources/Reports/CRecordLayout", cSettings: cSettings),

        // The loop, and where a callout comes back to that faulted.
        .target(
            name: "CRecoveryPoint",
            dependencies: ["CRecordLayout"],
            path: "Sources/RunLoops/CRecoveryPoint",
            cSettings: cSettings
        ),
        .target(
            name: "RunLoops",
            dependencies: ["LinuxSystem", "CLinuxShims", "CRecoveryPoint", system],
            exclude: ["CRecoveryPoint"],
            swiftSettings: sourceSettings
        ),

        // Reports: records, their model, the store; and names for addresses.
        // Needs the headers of Debian's libdw-dev, and links nothing: libdw is loaded when it is first needed.
        .target(name: "CElfutils", path: "Sources/Reports/CElfutils", cSettings: cSettings),
        .target(
            name: "Symbolication",
            dependencies: ["CElfutils", "LinuxSystem", system],
            path: "Sources/Reports/Symbols",
            swiftSettings: sourceSettings
        ),
        .target(
            name: "CrashReports",
            dependencies: ["CRecordLayout", "LinuxSystem", "Symbolication", system],
            path: "Sources/Reports",
            exclude: ["CElfutils", "CRecordLayout", "Symbols"],
            swiftSettings: sourceSettings
        ),

        // Tasks: the pool that runs their jobs, and boundaries in which one that faults is abandoned.
        .target(
            name: "CTaskPool",
            dependencies: ["CRecoveryPoint"],
            path: "Sources/Tasks/CTaskPool",
            cSettings: cSettings
        ),
        .target(
            name: "TaskBoundaries",
            dependencies: ["CTaskPool", "CRecoveryPoint", "LinuxSystem", "CLinuxShims", system],
            path: "Sources/Tasks",
            exclude: ["CTaskPool"],
            swiftSettings: sourceSettings
        ),

        // Capture: from a signal to a verdict. Its C is the only code that runs in a crashed context.
        .systemLibrary(
            name: "CLibunwind",
            path: "Sources/Capture/CLibunwind",
            providers: [.apt(["libunwind-dev"])]
        ),
        // Named so that it is the last one for the linker (package_end.h).
        .target(name: "zzzzzz_holdfast_end", path: "Sources/Capture/PackageEnd", cSettings: cSettings),
        .target(
            name: "CCrashCapture",
            dependencies: ["CRecordLayout", "CRecoveryPoint", "zzzzzz_holdfast_end"],
            path: "Sources/Capture/CCrashCapture",
            cSettings: cSettings
        ),
        .target(
            name: "CrashCapture",
            dependencies: [
                "CCrashCapture", "CRecordLayout", "CRecoveryPoint", "CTaskPool", "CLibunwind", "LinuxSystem",
                "Symbolication", logging, system,
            ],
            path: "Sources/Capture",
            exclude: ["CCrashCapture", "CLibunwind", "PackageEnd"],
            swiftSettings: sourceSettings
        ),

        // Stalls: who watches loops, what is sampled, and the reports.
        .target(
            name: "StallDetection",
            dependencies: [
                "RunLoops", "CrashCapture", "CrashReports", "Symbolication", "LinuxSystem", logging, system,
            ],
            path: "Sources/Stalls",
            swiftSettings: sourceSettings
        ),

        // What a user imports.
        .target(name: "CListenerHandover", path: "Sources/Holdfast/CListenerHandover", cSettings: cSettings),
        .target(
            name: "Holdfast",
            dependencies: [
                "CListenerHandover",
                "RunLoops", "CrashReports", "CrashCapture", "Symbolication", "StallDetection", "TaskBoundaries",
                "LinuxSystem", "CLinuxShims", "CRecordLayout", logging, system,
            ],
            exclude: ["CListenerHandover"],
            swiftSettings: sourceSettings
        ),

        // What servers are written with: connections, listeners, child processes.
        .target(
            name: "HoldfastIO",
            dependencies: ["Holdfast", "RunLoops", "LinuxSystem", "CLinuxShims", logging, system],
            path: "Sources/IO",
            swiftSettings: sourceSettings
        ),

        // Adapters to other libraries, each with a trait of its own.
        adapter(
            "Hummingbird",
            [
                "Hummingbird": "hummingbird", "HummingbirdCore": "hummingbird", "HTTPTypes": "swift-http-types",
                "NIOCore": "swift-nio", "NIOPosix": "swift-nio", "ServiceLifecycle": "swift-service-lifecycle",
            ],
            [logging]
        ),
        adapter("GRPC", ["GRPCCore": "grpc-swift-2"]),
        adapter("NIO", ["NIOCore": "swift-nio"]),
        adapter("ServiceLifecycle", ["ServiceLifecycle": "swift-service-lifecycle"]),
        adapter("Metrics", ["Metrics": "swift-metrics"]),
        adapter("Tracing", ["Tracing": "swift-distributed-tracing"]),

        // The process above: what `holdfast run` does. Without Foundation, because it is to be small.
        .target(
            name: "ProcessSupervisor",
            dependencies: ["CLinuxShims", "CRecordLayout", "LinuxSystem", "RunLoops", system],
            path: "Sources/Supervisor",
            swiftSettings: sourceSettings
        ),

        // Faults on purpose: for the agent and for tests.
        .target(
            name: "CFaultInjection",
            path: "Sources/FaultInjection/CFaultInjection",
            cSettings: cSettings,
            cxxSettings: [.define("_GNU_SOURCE")]
        ),
        .target(
            name: "FaultInjection",
            dependencies: ["CFaultInjection"],
            exclude: ["CFaultInjection"],
            swiftSettings: sourceSettings
        ),

        // Tools.
        .target(
            name: "ReportText",
            dependencies: ["CrashReports", "LinuxSystem", system],
            path: "Tools/crashreport/text",
            swiftSettings: sourceSettings
        ),
        .target(
            name: "ReportExports",
            dependencies: ["CrashReports", "LinuxSystem", "ReportText"],
            path: "Tools/crashreport/exports",
            swiftSettings: sourceSettings
        ),
        .executableTarget(
            name: "crashreport",
            dependencies: [
                "CrashReports", "LinuxSystem", "ReportExports", "ReportText", "Symbolication",
                argumentParser, system,
            ],
            path: "Tools/crashreport/commands",
            swiftSettings: sourceSettings
        ),
        .target(name: "CommandOptions", path: "Tools/options", swiftSettings: sourceSettings),
        .executableTarget(
            name: "holdfast",
            dependencies: ["CommandOptions", "LinuxSystem", "ProcessSupervisor", system],
            path: "Tools/holdfast",
            exclude: ["completions"],
            swiftSettings: sourceSettings
        ),
        .executableTarget(
            name: "holdfast-agent",
            dependencies: ["CommandOptions", "Holdfast", "HoldfastIO", "FaultInjection", logging, system],
            path: "Tools/holdfast-agent",
            swiftSettings: sourceSettings
        ),

        // What tests are made with.
        .target(
            name: "TestSupport",
            dependencies: ["CLinuxShims", "CrashReports", "RunLoops", "Symbolication"],
            path: "Tests/Support/TestSupport",
            swiftSettings: swiftSettings
        ),
        // Reports to test with, for whoever reads, shows or exports them.
        .target(
            name: "ReportTestSupport",
            dependencies: ["CrashReports", "LinuxSystem", "TestSupport", system],
            path: "Tests/Support/ReportTestSupport",
            exclude: ["Fixtures"],
            swiftSettings: swiftSettings
        ),
        testSupport("AllocationCounter"),
        testSupport("CFrameProbe"),
        testSupport("RecoveryTestSupport", ["CRecoveryPoint", "CTaskPool"]),
        testProgram("allocation-probe", ["AllocationCounter", "CRecoveryPoint", "RunLoops", system]),
        testProgram("main-loop-probe", ["RunLoops", "LinuxSystem", system]),
        testProgram("message-probe", ["RunLoops", system]),
        testProgram("run-loop-stress", ["RunLoops", system]),
        testProgram("stall-trial", ["RunLoops", "CrashCapture", "StallDetection"]),
        testProgram("store-probe", ["CrashReports", "LinuxSystem", system]),
        // Nobody handles what it commits.
        testProgram("fault-probe", ["FaultInjection"]),
        // The example of CrashReportFormat.md: it sees what any program sees that imports CrashReports.
        testProgram("report-reader", ["CrashReports"], packageAccess: false),
        // Bugs to group: the corpus of CrashReportsTests is made with it.
        testProgram("fingerprint-probe", ["Holdfast", system]),
        testProgram("lock-frames-probe", ["AllocationCounter", "CrashCapture", "Symbolication"]),
        // Compared with gdb.
        testProgram(
            "frame-probe",
            ["CFrameProbe", "CrashCapture", "CFaultInjection", "FaultInjection", "TaskBoundaries"]
        ),
        testProgram("verdict-probe", ["AllocationCounter", "CrashCapture", "Holdfast"]),
        testProgram(
            "recovery-probe",
            [
                "Holdfast", "CrashCapture", "CCrashCapture", "CFaultInjection", "FaultInjection", "CrashReports",
                logging,
                system,
            ]
        ),
        // With Foundation, which nothing else of the runtime's tests has.
        testProgram("condition-lock-probe", ["Holdfast", "FaultInjection", system]),
        // With an async main.
        testProgram("boundary-probe", ["Holdfast", "FaultInjection", logging]),
        // With the trait NIO also on an event loop.
        testProgram(
            "fault-matrix-probe",
            [
                "Holdfast", "FaultInjection", system,
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["NIO"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["NIO"])),
            ]
        ),
        // README's examples, and the first with the line that lets it give up.
        testProgram("greeter", ["Holdfast"], settings: [.treatAllWarnings(as: .error)]),
        testProgram("echo", ["Holdfast"], settings: [.treatAllWarnings(as: .error)]),
        testProgram("mortal-greeter", ["Holdfast"], settings: [.treatAllWarnings(as: .error)]),
        // Those of Documentation/IO.md.
        testProgram("echo-server", ["HoldfastIO"], settings: [.treatAllWarnings(as: .error)]),
        testProgram("child-supervisor", ["HoldfastIO"], settings: [.treatAllWarnings(as: .error)]),
        testProgram("standby-server", ["HoldfastIO", system]),
        testProgram("async-server", ["Holdfast", "CLinuxShims"]),
        testProgram("heir-server", ["Holdfast", system]),
        testProgram("io-probe", ["HoldfastIO", "FaultInjection", system]),

        // Tests: one target for each of Sources.
        tests("LinuxSystemTests", ["LinuxSystem", "TestSupport", system]),
        tests("RecoveryPointTests", ["CRecoveryPoint", "RecoveryTestSupport"]),
        tests(
            "RunLoopsTests",
            [
                "RunLoops", "LinuxSystem", "CLinuxShims", "CRecoveryPoint", "RecoveryTestSupport", "TestSupport",
                "main-loop-probe", "allocation-probe", "message-probe", system,
            ]
        ),
        // Compares with the CFRunLoop of the toolchain.
        tests("RunLoopOracleTests", ["RunLoops", "LinuxSystem", system]),
        tests(
            "SymbolicationTests",
            [
                "Symbolication", "CrashCapture", "CrashReports", "FaultInjection", "LinuxSystem", "TestSupport",
                "crashreport",
                system,
            ]
        ),
        tests(
            "CrashReportsTests",
            [
                "CRecordLayout", "CrashReports", "LinuxSystem", "Symbolication", "ReportTestSupport", "TestSupport",
                "store-probe", "report-reader", system,
            ],
            exclude: ["Corpus"]
        ),
        tests("ReportTextTests", ["ReportText", "CrashReports", "ReportTestSupport", "TestSupport", system]),
        tests(
            "ReportExportsTests",
            [
                "ReportExports", "ReportText", "CrashReports", "LinuxSystem", "ReportTestSupport", "TestSupport",
                "crashreport", system,
            ],
            exclude: ["Fixtures", "Scripts"]
        ),
        // Runs the built program: the executable `crashreport` has the commands.
        tests(
            "CrashReportCommandTests",
            ["CrashReports", "LinuxSystem", "ReportText", "ReportTestSupport", "TestSupport", "crashreport", system],
            exclude: ["Fixtures"]
        ),
        tests("FaultInjectionTests", ["FaultInjection", "TestSupport", "fault-probe"]),
        tests(
            "CrashCaptureTests",
            [
                "TestSupport", "CrashCapture", "CCrashCapture", "CRecoveryPoint", "CLibunwind", "CrashReports",
                "FaultInjection", "LinuxSystem", "RecoveryTestSupport", "Symbolication", "lock-frames-probe",
                "verdict-probe",
                system,
            ]
        ),
        // Runs the built program: the executable `holdfast`.
        tests(
            "ProcessSupervisorTests",
            [
                "ProcessSupervisor", "CLinuxShims", "CrashReports", "LinuxSystem", "RecoveryTestSupport", "TestSupport",
                "holdfast",
                "crashreport", "echo-server", "heir-server", "holdfast-agent", "standby-server", "async-server",
                "io-probe",
            ],
            exclude: ["Scripts"]
        ),
        tests(
            "TaskBoundariesTests",
            ["TaskBoundaries", "CTaskPool", "LinuxSystem", "RecoveryTestSupport", "TestSupport"]
        ),
        tests(
            "StallDetectionTests",
            [
                "TestSupport", "StallDetection", "CrashCapture", "CrashReports", "LinuxSystem", "RunLoops",
                "Symbolication",
            ]
        ),
        tests(
            "HoldfastTests",
            [
                "TestSupport", "CLinuxShims", "CListenerHandover", "Holdfast", "CrashCapture", "CrashReports",
                "LinuxSystem",
                "StallDetection", "Symbolication", "recovery-probe", "boundary-probe", "condition-lock-probe",
                "greeter",
                "mortal-greeter", "echo", "async-server",
            ]
        ),
        tests(
            "HoldfastIOTests",
            [
                "TestSupport", "HoldfastIO", "Holdfast", "CrashReports", "LinuxSystem", "echo-server",
                "child-supervisor", "io-probe", system,
            ]
        ),
        tests(
            "AgentTests",
            ["TestSupport", "CrashReports", "FaultInjection", "RunLoops", "holdfast-agent", "crashreport"]
        ),
        // Compares with gdb.
        tests(
            "DebuggerJudgeTests",
            ["TestSupport", "Symbolication", "CrashReports", "FaultInjection", "frame-probe", system],
            exclude: ["gdb_frames.py"]
        ),
        tests(
            "FaultMatrixTests",
            ["TestSupport", "CrashReports", "FaultInjection", "Symbolication", "fault-matrix-probe", system]
        ),
    ],
    cxxLanguageStandard: .cxx17
)
