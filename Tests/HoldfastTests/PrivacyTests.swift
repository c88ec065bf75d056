import CrashCapture
import CrashReports
import Foundation
import Glibc
import TestSupport
import Testing

@testable import Holdfast

/// What a process is told not to tell stands in no file of the store.
@Suite(.timeLimit(.minutes(10))) struct PrivacyTests {
    private static let environment = [
        "LANG": "en_US.UTF-8", "TZ": "UTC", "PROBE_TOKEN": "hunter2", "PROBE_TOLD_1": "told",
        "PROBE_TOLD_2": "https://joe:hunter2@example.org/", "PROBE_TOLD_PASSWORD": "hunter2",
    ]

    /// The files in which a text stands, whatever they are.
    private func files(in store: String, with text: String) throws -> [String] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: store)
        return try names.filter { name in
            var isFolder: ObjCBool = false
            guard FileManager.default.fileExists(atPath: "\(store)/\(name)", isDirectory: &isFolder),
                !isFolder.boolValue
            else { return false }
            return try Data(contentsOf: URL(fileURLWithPath: "\(store)/\(name)")).range(of: Data(text.utf8)) != nil
        }
    }

    @Test func `Secrets of arguments, environment, log and annotations are in no file of the store`() throws {
        let run = try HostRun(
            "context",
            "secrets",
            "--api-token",
            "hunter2",
            "--password=hunter2",
            "https://joe:hunter2@example.org/",
            "--customer",
            "ACME-2222",
            "--verbose",
            environment: Self.environment
        )
        #expect(try run.line() == "ready")
        run.process.waitUntilStopped()
        // It has stopped, and the spool file is in use: everything but the text of the fault is in it.
        let spool = try files(in: run.store.path, with: "HFSPOOL")
        #expect(spool.count == 1)
        #expect(try files(in: run.store.path, with: "login failed") == spool, "the search itself finds something")
        #expect(try files(in: run.store.path, with: "hunter2") == [])
        #expect(try files(in: run.store.path, with: "ACME-2222") == [])
        run.process.kill(SIGCONT)
        #expect(try run.line() == "reported")
        run.process.waitUntilStopped()
        // Neither the report nor what is left of the record.
        #expect(try files(in: run.store.path, with: "hunter2") == [])
        #expect(try files(in: run.store.path, with: "ACME-2222") == [])
        let report = try #require(run.store.reports().first)
        #expect(report.reason == "cannot log in with password=<redacted> as <redacted>")
        #expect(
            report.process.arguments.dropFirst(4) == [
                "--api-token", "<redacted>", "--password=<redacted>", "https://<redacted>@example.org/", "--customer",
                "<redacted>", "--verbose",
            ]
        )
        let context = try #require(report.context)
        #expect(context.environment["LANG"] == "en_US.UTF-8")
        #expect(context.environment["TZ"] == "UTC")
        #expect(context.environment["PROBE_TOLD_1"] == "told")
        #expect(context.environment["PROBE_TOLD_2"] == "https://<redacted>@example.org/")
        #expect(context.environment["PROBE_TOLD_PASSWORD"] == "<redacted>")
        #expect(context.environment["PROBE_TOKEN"] == nil)
        #expect(context.environment["PATH"] == nil)
        #expect(context.annotations == ["upstream": "https://<redacted>@example.org/", "api_token": "<redacted>"])
        let notes = context.breadcrumbs.filter { $0.kind == .note }.map(\.text)
        #expect(
            notes == [
                "mail: login failed password=<redacted> user=joe",
                "mail: Authorization: Bearer <redacted> for <redacted>",
            ]
        )
    }

    @Test func `A variable with the name of a secret is told only when that is listed`() {
        var policy = PrivacyPolicy()
        policy.environment = ["APP_*", "APP_TOKEN", "OTHER_TOKEN"]
        policy.secretNames = ["customer_id"]
        let environment = [
            "APP_PASSWORD": "hunter2", "APP_TOKEN": "listed", "APP_CUSTOMER_ID": "4711", "APP_PORT": "25",
            "OTHER_TOKEN": "password=x", "OTHER_PORT": "26",
        ]
        #expect(
            policy.told(of: environment).environment == [
                "APP_CUSTOMER_ID=<redacted>", "APP_PASSWORD=<redacted>", "APP_PORT=25", "APP_TOKEN=listed",
                "OTHER_TOKEN=password=<redacted>",
            ]
        )
        policy.redactsCredentials = false
        let told = policy.told(of: environment).environment
        #expect(told.prefix(2) == ["APP_CUSTOMER_ID=<redacted>", "APP_PASSWORD=hunter2"])
    }

    @Test func `A process that tells nothing of its arguments tells its name`() throws {
        let run = try HostRun("context", "no-arguments", "hunter2")
        #expect(try run.process.wait() == .exited(0))
        let report = try run.store.onlyReport()
        #expect(report.process.arguments.count == 1)
        #expect(report.process.arguments.first?.hasSuffix("recovery-probe") == true)
    }
}
