// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "hummingbird-example",
    dependencies: [
        .package(name: "holdfast", path: "../..", traits: ["Hummingbird", "NIO"]),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.1"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
        .package(url: "https://github.com/apple/swift-log", from: "1.16.2"),
    ],
    targets: [
        .executableTarget(
            name: "hummingbird-example",
            dependencies: [
                .product(name: "HoldfastHummingbird", package: "holdfast"),
                .product(name: "HoldfastNIO", package: "holdfast"),
                // The faults on purpose, which a program of your own does not need.
                .product(name: "_FaultInjection", package: "holdfast"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Logging", package: "swift-log"),
            ]
        )
    ]
)
