// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "nio-example",
    dependencies: [
        .package(name: "holdfast", path: "../..", traits: ["NIO", "ServiceLifecycle"]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .executableTarget(
            name: "nio-example",
            dependencies: [
                .product(name: "HoldfastNIO", package: "holdfast"),
                .product(name: "HoldfastServiceLifecycle", package: "holdfast"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "Logging", package: "swift-log"),
            ]
        )
    ]
)
