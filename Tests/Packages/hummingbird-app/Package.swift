// swift-tools-version: 6.2
import PackageDescription

// A fresh app, in the files and with the names that Hummingbird's template gives it: what hummingbird.patch applies to.
let package = Package(
    name: "hummingbird-app",
    dependencies: [
        .package(url: "https://github.com/hummingbird-project/hummingbird.git", from: "2.25.0"),
        .package(
            url: "https://github.com/apple/swift-configuration.git",
            from: "1.0.0",
            traits: [.defaults, "CommandLineArguments"]
        ),
    ],
    targets: [
        .executableTarget(
            name: "App",
            dependencies: [
                .product(name: "Configuration", package: "swift-configuration"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ],
            path: "Sources/App"
        )
    ]
)
