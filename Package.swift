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
let system = Target.Dependency.product(name: "SystemPackage", package: "swift-system")

let package = Package(
    name: "holdfast",
    products: [
        .library(name: "Holdfast", targets: ["Holdfast"]),
        .library(name: "RunLoops", targets: ["RunLoops"]),
        .library(name: "CrashReports", targets: ["CrashReports"]),
        .executable(name: "crashreport", targets: ["crashreport"]),
        .executable(name: "holdfast-agent", targets: ["holdfast-agent"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        // Layer 0: C, nothing below it.
        .target(name: "CLinuxShims", cSettings: cSettings),
        .systemLibrary(
            name: "CLibunwind",
            providers: [.apt(["libunwind-dev"])]
        ),
        .systemLibrary(name: "CElfutils", providers: [.apt(["libdw-dev"])]),
        .target(name: "CRecordLayout", cSettings: cSettings),
        .target(name: "CRecoveryPoint", dependencies: ["CRecordLayout"], cSettings: cSettings),
        .target(name: "CDisassembler", cSettings: cSettings),

        // Layer 1: the system, and the only code that runs in a crashed context.
        .target(name: "LinuxSystem", dependencies: ["CLinuxShims", system], swiftSettings: sourceSettings),
        .target(
            name: "CCrashCapture",
            dependencies: ["CRecordLayout", "CRecoveryPoint"],
            cSettings: cSettings
        ),

        // Layer 2
        .target(
            name: "RunLoops",
            dependencies: ["LinuxSystem", "CRecoveryPoint", system],
            swiftSettings: sourceSettings
        ),
        .target(
            name: "CrashReports",
            dependencies: ["CRecordLayout", "LinuxSystem", system],
            swiftSettings: sourceSettings
        ),
        .target(
            name: "CrashCapture",
            dependencies: ["CCrashCapture", "CRecoveryPoint", "CLibunwind", "LinuxSystem", system],
            swiftSettings: sourceSettings
        ),

        // Layer 3
        .target(
            name: "Symbolication",
            dependencies: ["CrashReports", "CElfutils", "LinuxSystem", system],
            swiftSettings: sourceSettings
        ),
        .target(name: "ReportExports", dependencies: ["CrashReports"], swiftSettings: sourceSettings),
        .target(
            name: "Supervision",
            dependencies: ["RunLoops", "CrashCapture", "CrashReports", "LinuxSystem", system],
            swiftSettings: sourceSettings
        ),

        // Layer 4: what a user imports.
        .target(
            name: "Holdfast",
            dependencies: [
                "RunLoops", "CrashReports", "CrashCapture", "Symbolication", "Supervision", "LinuxSystem", logging,
                system,
            ],
            swiftSettings: sourceSettings
        ),

        // Faults on purpose: for the agent and for tests.
        .target(name: "CFaultInjection", cSettings: cSettings, cxxSettings: [.define("_GNU_SOURCE")]),
        .target(name: "FaultInjection", dependencies: ["CFaultInjection"], swiftSettings: sourceSettings),

        // Layer 5: tools.
        .executableTarget(
            name: "crashreport",
            dependencies: [
                "CDisassembler", "CrashReports", "LinuxSystem", "ReportExports", "Symbolication", argumentParser,
                system,
            ],
            path: "Tools/crashreport",
            swiftSettings: sourceSettings
        ),
        .executableTarget(
            name: "holdfast-agent",
            dependencies: ["Holdfast", "FaultInjection", argumentParser, logging, system],
            path: "Tools/holdfast-agent",
            swiftSettings: sourceSettings
        ),
        .executableTarget(
            name: "holdfast-benchmark",
            dependencies: [
                "Holdfast", "CrashReports", "CRecoveryPoint", "FaultInjection", "LinuxSystem", argumentParser, logging,
                system,
            ],
            path: "Tools/holdfast-benchmark",
            swiftSettings: sourceSettings
        ),
        // The harness is shared with the other loops' programs, which Tools/benchmark compiles.
        .target(name: "CBenchmark", path: "Tools/CBenchmark", cSettings: cSettings),
        .executableTarget(
            name: "run-loop-benchmark",
            dependencies: ["RunLoops", "CBenchmark"],
            path: "Tools/run-loop-benchmark",
            swiftSettings: sourceSettings
        ),

        // Tests, and what they are made with.
        .target(
            name: "RecoveryTestSupport",
            dependencies: ["CRecoveryPoint"],
            path: "Tests/RecoveryTestSupport",
            cSettings: cSettings
        ),
        .executableTarget(
            name: "main-loop-probe",
            dependencies: ["RunLoops", "LinuxSystem", system],
            path: "Tests/MainLoopProbe",
            swiftSettings: swiftSettings
        ),
        .target(
            name: "AllocationCounter",
            path: "Tests/AllocationCounter",
            cSettings: cSettings
        ),
        .executableTarget(
            name: "allocation-probe",
            dependencies: ["AllocationCounter", "CRecoveryPoint", "RunLoops"],
            path: "Tests/AllocationProbe",
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "run-loop-stress",
            dependencies: ["RunLoops"],
            path: "Tests/RunLoopStress",
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "stall-trial",
            dependencies: ["RunLoops", "Supervision"],
            path: "Tests/StallTrial",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "RunLoopsTests",
            dependencies: [
                "RunLoops", "LinuxSystem", "CLinuxShims", "CRecoveryPoint", "RecoveryTestSupport", "TestSupport",
                "main-loop-probe", "allocation-probe", "message-probe", system,
            ],
            exclude: ["MessageProbe"],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "message-probe",
            dependencies: ["RunLoops", system],
            path: "Tests/RunLoopsTests/MessageProbe",
            swiftSettings: swiftSettings
        ),
        // Compares with the CFRunLoop of the toolchain.
        .testTarget(
            name: "RunLoopOracleTests",
            dependencies: ["RunLoops", "LinuxSystem", system],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "CrashReportsTests",
            dependencies: [
                "CRecordLayout", "CrashReports", "LinuxSystem", "crashreport", "store-probe", system,
            ],
            exclude: ["Fixtures", "Corpus", "StoreProbe"],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "store-probe",
            dependencies: ["CrashReports", system],
            path: "Tests/CrashReportsTests/StoreProbe",
            swiftSettings: swiftSettings
        ),
        // Bugs to group: the corpus of CrashReportsTests is made with it.
        .executableTarget(
            name: "fingerprint-probe",
            dependencies: ["Holdfast", system],
            path: "Tests/FingerprintProbe",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "ReportExportsTests",
            dependencies: ["ReportExports", "TestSupport", "CrashReports", "crashreport", system],
            exclude: ["Fixtures", "Scripts"],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "SymbolicationTests",
            dependencies: [
                "Symbolication", "CrashReports", "FaultInjection", "TestSupport", "lock-frames-probe", "crashreport",
                system,
            ],
            exclude: ["LockFramesProbe"],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "lock-frames-probe",
            dependencies: ["AllocationCounter", "Symbolication"],
            path: "Tests/SymbolicationTests/LockFramesProbe",
            swiftSettings: swiftSettings
        ),
        // Compares with gdb.
        .target(name: "CFrameProbe", path: "Tests/CFrameProbe", cSettings: cSettings),
        .executableTarget(
            name: "frame-probe",
            dependencies: ["CFrameProbe", "CrashCapture", "CFaultInjection", "FaultInjection"],
            path: "Tests/FrameProbe",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "DebuggerJudgeTests",
            dependencies: ["TestSupport", "Symbolication", "CrashReports", "FaultInjection", "frame-probe", system],
            exclude: ["gdb_frames.py"],
            swiftSettings: swiftSettings
        ),
        .target(
            name: "TestSupport",
            dependencies: ["CrashReports"],
            path: "Tests/TestSupport",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "AgentTests",
            dependencies: [
                "TestSupport", "CrashReports", "FaultInjection", "RunLoops", "holdfast-agent", "crashreport",
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "CrashCaptureTests",
            dependencies: [
                "TestSupport", "CrashCapture", "CCrashCapture", "CRecoveryPoint", "CLibunwind", "CrashReports",
                "FaultInjection", "LinuxSystem", "RecoveryTestSupport", system,
            ],
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "SupervisionTests",
            dependencies: ["TestSupport", "Supervision", "CrashCapture", "CrashReports", "RunLoops", "verdict-probe"],
            exclude: ["Probe"],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "verdict-probe",
            dependencies: ["AllocationCounter", "CrashCapture", "Supervision"],
            path: "Tests/SupervisionTests/Probe",
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "recovery-probe",
            dependencies: [
                "Holdfast", "CrashCapture", "CCrashCapture", "CFaultInjection", "FaultInjection", "CrashReports",
                logging, system,
            ],
            path: "Tests/HoldfastTests/Probe",
            swiftSettings: swiftSettings
        ),
        // With Foundation, which nothing else of the runtime's tests has.
        .executableTarget(
            name: "condition-lock-probe",
            dependencies: ["Holdfast", "FaultInjection", system],
            path: "Tests/HoldfastTests/ConditionLockProbe",
            swiftSettings: swiftSettings
        ),
        // README's examples, and the first with the line that lets it give up.
        .executableTarget(
            name: "greeter",
            dependencies: ["Holdfast"],
            path: "Tests/HoldfastTests/Greeter",
            swiftSettings: [.treatAllWarnings(as: .error)]
        ),
        .executableTarget(
            name: "echo",
            dependencies: ["Holdfast"],
            path: "Tests/HoldfastTests/Echo",
            swiftSettings: [.treatAllWarnings(as: .error)]
        ),
        .executableTarget(
            name: "mortal-greeter",
            dependencies: ["Holdfast"],
            path: "Tests/HoldfastTests/MortalGreeter",
            swiftSettings: [.treatAllWarnings(as: .error)]
        ),
        .testTarget(
            name: "HoldfastTests",
            dependencies: [
                "TestSupport", "Holdfast", "CrashCapture", "CrashReports", "LinuxSystem", "Symbolication",
                "recovery-probe", "condition-lock-probe", "greeter", "mortal-greeter", "echo",
            ],
            exclude: ["Probe", "ConditionLockProbe", "Greeter", "MortalGreeter", "Echo"],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "fault-matrix-probe",
            dependencies: ["Holdfast", "FaultInjection", system],
            path: "Tests/FaultMatrixProbe",
            swiftSettings: swiftSettings
        ),
        .testTarget(
            name: "FaultMatrixTests",
            dependencies: [
                "TestSupport", "CrashReports", "FaultInjection", "Symbolication", "fault-matrix-probe", system,
            ],
            swiftSettings: swiftSettings
        ),
    ],
    cxxLanguageStandard: .cxx17
)
