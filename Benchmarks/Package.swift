// swift-tools-version: 6.2
import PackageDescription

// A package of its own: whoever uses Holdfast does not build its measurements, and they see what every user sees. See Tools/benchmark.

let swiftSettings: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("InternalImportsByDefault"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    .strictMemorySafety(),
]

func holdfast(_ product: String) -> Target.Dependency {
    .product(name: product, package: "holdfast")
}

let package = Package(
    name: "holdfast-benchmarks",
    dependencies: [
        .package(name: "holdfast", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.1"),
    ],
    targets: [
        // The harness is shared with the other loops' programs, which Tools/benchmark compiles.
        .target(
            name: "CBenchmark",
            cSettings: [
                .enableWarning("all"), .enableWarning("extra"), .treatAllWarnings(as: .error), .define("_GNU_SOURCE"),
            ]
        ),
        .executableTarget(
            name: "holdfast-benchmark",
            dependencies: [
                holdfast("Holdfast"), holdfast("CrashReports"), holdfast("_FaultInjection"), holdfast("_RecoveryPoint"),
                holdfast("_StallDetection"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings
        ),
        .executableTarget(name: "hello-world", swiftSettings: swiftSettings),
        .executableTarget(
            name: "boundary-benchmark",
            dependencies: [
                holdfast("Holdfast"), holdfast("_FaultInjection"), .product(name: "Logging", package: "swift-log"),
            ],
            swiftSettings: swiftSettings
        ),
        .executableTarget(
            name: "run-loop-benchmark",
            dependencies: [
                holdfast("RunLoops"), "CBenchmark", .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: swiftSettings
        ),
    ]
)
