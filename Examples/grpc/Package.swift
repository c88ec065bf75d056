// swift-tools-version: 6.2
import PackageDescription

let package = Package(
    name: "grpc-example",
    dependencies: [
        .package(name: "holdfast", path: "../..", traits: ["GRPC"]),
        .package(url: "https://github.com/grpc/grpc-swift-2", from: "2.4.3"),
        .package(url: "https://github.com/grpc/grpc-swift-nio-transport", from: "2.9.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.2"),
    ],
    targets: [
        .executableTarget(
            name: "grpc-example",
            dependencies: [
                .product(name: "HoldfastGRPC", package: "holdfast"),
                // The faults on purpose, which a program of your own does not need.
                .product(name: "_FaultInjection", package: "holdfast"),
                .product(name: "GRPCCore", package: "grpc-swift-2"),
                .product(name: "GRPCNIOTransportHTTP2", package: "grpc-swift-nio-transport"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ]
        )
    ]
)
