// swift-tools-version: 6.2
import PackageDescription

// A package of its own, since libFuzzer brings the `main` function, and every module is built for it: see Tools/fuzz.
let package = Package(
    name: "holdfast-fuzzers",
    dependencies: [.package(name: "holdfast", path: "../..")],
    targets: [
        .executableTarget(
            name: "report-fuzzer",
            dependencies: [
                .product(name: "CrashReports", package: "holdfast"), .product(name: "_ReportText", package: "holdfast"),
            ],
            swiftSettings: [.swiftLanguageMode(.v5)]
        )
    ]
)
