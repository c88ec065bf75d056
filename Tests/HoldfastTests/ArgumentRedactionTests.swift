import CrashReports
import Testing

@testable import Holdfast

/// What of a command line may be told.
@Suite struct ArgumentRedactionTests {
    private func told(_ arguments: String..., policy: PrivacyPolicy.Arguments = .redacted) -> [String] {
        let redaction = ArgumentRedaction(policy: policy, redaction: TextRedaction())
        return redaction.redact((["agent"] + arguments).map { Array($0.utf8) }).dropFirst().map {
            String(decoding: $0, as: UTF8.self)
        }
    }

    @Test func `Values of options that name secrets are redacted`() {
        #expect(told("--token", "x", "--port", "25") == ["--token", "<redacted>", "--port", "25"])
        #expect(
            told("--db-password=x", "-Dapi.key=y", "TOKEN=z") == [
                "--db-password=<redacted>", "-Dapi.key=<redacted>", "TOKEN=<redacted>",
            ]
        )
        #expect(told("--password", "-x1", "a") == ["--password", "<redacted>", "a"])
        #expect(told("--token", "--secret", "x") == ["--token", "--secret", "<redacted>"])
        #expect(told("--token", "-v", "x") == ["--token", "-v", "x"])
        #expect(told("--", "--token", "x") == ["--", "--token", "x"])
        #expect(told("--token=") == ["--token="])
        #expect(
            told("https://a:b@c/", "--header", "Bearer abcdef012345") == [
                "https://<redacted>@c/", "--header", "Bearer <redacted>",
            ]
        )
    }

    @Test func `Other arguments are told byte for byte`() {
        let odd: [UInt8] = [0x66, 0xff, 0xfe]
        let redaction = ArgumentRedaction(policy: .redacted, redaction: TextRedaction())
        #expect(redaction.redact([Array("agent".utf8), odd]) == [Array("agent".utf8), odd])
        #expect(redaction.redact([]) == [])
    }

    @Test func `Other policies tell all, names, or nothing`() {
        #expect(told("--token", "x", policy: .all) == ["--token", "x"])
        #expect(
            told("--token", "x", "--port=25", "-p", "-pX", policy: .namesOnly) == [
                "--token", "<redacted>", "--port=<redacted>", "-p", "-p<redacted>",
            ]
        )
        #expect(told("--token", "x", policy: .none) == [])
    }

    @Test func `Where names are told, what is behind the last option is none`() {
        #expect(
            told("-v", "--", "--customer=4711", "-x", "--", "4711", policy: .namesOnly) == [
                "-v", "--", "<redacted>", "<redacted>", "<redacted>", "<redacted>",
            ]
        )
        #expect(told("--", policy: .namesOnly) == ["--"])
        #expect(told(policy: .namesOnly) == [])
    }
}
