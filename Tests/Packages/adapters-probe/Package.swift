// swift-tools-version: 6.2
import PackageDescription

// Uses the adapters as a program does that knows nothing of this package's insides; Tools/check-adapters runs it.
let package = Package(
    name: "adapters-probe",
    dependencies: [
        .package(name: "holdfast", path: "../../..", traits: ["NIO", "ServiceLifecycle", "Metrics", "Tracing"]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.3"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .executableTarget(
            name: "adapters-probe",
            dependencies: [
                .product(name: "HoldfastNIO", package: "holdfast"),
                .product(name: "HoldfastServiceLifecycle", package: "holdfast"),
                .product(name: "HoldfastMetrics", package: "holdfast"),
                .product(name: "HoldfastTracing", package: "holdfast"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "MetricsTestKit", package: "swift-metrics"),
                .product(name: "Tracing", package: "swift-distributed-tracing"),
                .product(name: "InMemoryTracing", package: "swift-distributed-tracing"),
                .product(name: "Logging", package: "swift-log"),
            ]
        )
    ]
)
