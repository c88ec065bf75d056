import CrashReports
import Testing

/// What is taken out of texts, and what stays.
@Suite(.timeLimit(.minutes(10))) struct TextRedactionTests {
    @Test(arguments: [
        ("password=hunter2 user=joe", "password=<redacted> user=joe"),
        ("Password: hunter2, user: joe", "Password: <redacted>, user: joe"),
        (#"{"api_key": "hunter2", "user": "joe"}"#, #"{"api_key": "<redacted>", "user": "joe"}"#),
        (#"secret="two words" after"#, #"secret="<redacted>" after"#),
        ("?access_token=hunter2&page=2", "?access_token=<redacted>&page=2"),
        ("DB_PASSWORD=hunter2", "DB_PASSWORD=<redacted>"),
        ("apiKey=hunter2", "apiKey=<redacted>"),
        ("Authorization: Bearer abcdef012345", "Authorization: Bearer <redacted>"),
        ("Authorization: hunter2", "Authorization: <redacted>"),
        ("sent bearer abcdef012345, refused", "sent bearer <redacted>, refused"),
        ("basic dXNlcjpwYXNz", "basic <redacted>"),
        ("postgres://joe:hunter2@db.example.org/x", "postgres://<redacted>@db.example.org/x"),
        ("https://joe:p@ss@example.org/a?b#c", "https://<redacted>@example.org/a?b#c"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.abc", "<redacted>"),
        ("(ghp_0123456789abcdef0123)", "(<redacted>)"),
        ("AKIAIOSFODNN7EXAMPLE in use", "<redacted> in use"),
        (
            "-----BEGIN EC PRIVATE KEY-----\nMHc\n-----END EC PRIVATE KEY-----\nx",
            "-----BEGIN EC PRIVATE KEY-----<redacted>-----END EC PRIVATE KEY-----\nx"
        ),
        ("-----BEGIN PRIVATE KEY-----\nMHcut off", "-----BEGIN PRIVATE KEY-----<redacted>"),
    ])
    func `Credentials are taken out`(text: String, redacted: String) {
        #expect(TextRedaction().redact(text) == redacted)
        #expect(TextRedaction().redact(redacted) == redacted, "once more changes nothing")
    }

    @Test(arguments: [
        "", "Index out of range", "Unexpectedly found nil while unwrapping an Optional value",
        "Dictionary literal contains duplicate keys", "Fatal error: a fault on purpose", "monkey=brown", "pass 20167",
        "https://example.org/a@b", "basic need", "read of address 0x18 (null page)", "joe@example.org", "eyJ",
        "password=", "the token", "ratio: 3:4", "café: ✓", "key",
    ])
    func `Other texts stay as they are`(text: String) {
        #expect(TextRedaction().redact(text) == text)
    }

    @Test func `Addresses of e-mail are taken out when that is asked for`() {
        let redaction = TextRedaction(emailAddresses: true)
        #expect(redaction.redact("from joe.doe+x@mail.example.org.") == "from <redacted>.")
        #expect(redaction.redact("a@b and @c.d stay") == "a@b and @c.d stay")
    }

    @Test func `Nothing is taken out when nothing is asked for`() {
        let text = "password=hunter2 Bearer abcdef012345 joe@example.org"
        #expect(TextRedaction(credentials: false).redact(text) == text)
    }

    @Test func `A program adds names and patterns`() {
        let redaction = TextRedaction(secretNames: ["iban"], patterns: ["ACME-####", "cust_*", #"100\*?"#])
        #expect(redaction.redact("iban=DE02 acme-1234 ACME-12") == "iban=<redacted> <redacted> ACME-12")
        #expect(redaction.redact("cust_abc/d e 100*x 1000x") == "<redacted> e <redacted> 1000x")
        #expect(redaction.isSecretName("customerIBAN"))
    }

    @Test(arguments: ["*", "?", "**", "*?*", ""])
    func `A pattern that would find everything finds nothing`(pattern: String) {
        #expect(TextRedaction(patterns: [pattern]).redact("some text") == "some text")
    }

    @Test(arguments: [
        ("--api-token", true), ("--password", true), ("apiKey", true), ("AUTH_HEADER", true), ("--no-auth", true),
        ("x-auth-token", true), ("DATABASE_PASSWORD", true), ("--author", false), ("monkey", false),
        ("keyboard", false),
        ("--port", false), ("", false), ("passenger", false),
    ])
    func `Names of secrets are told by their words`(name: String, isSecret: Bool) {
        #expect(TextRedaction().isSecretName(name) == isSecret)
    }

    @Test func `Rules and texts of any kind are taken, and in time`() {
        let words = [
            "=", ":", "\"", "'", "@", "://", "a", "password", "Bearer ", "-----BEGIN ", "eyJ", " ", "\u{0}", "é", "\\",
            "*",
        ]
        var state: UInt64 = 1
        func next() -> Int {
            state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            return Int(state >> 33)
        }
        for _ in 0..<500 {
            let text = (0..<next() % 60).map { _ in words[next() % words.count] }.joined()
            let pattern = (0..<next() % 8).map { _ in words[next() % words.count] }.joined()
            let redaction = TextRedaction(emailAddresses: true, secretNames: [pattern], patterns: [pattern])
            _ = redaction.redact(text)
        }
        // A matcher that tried everything would not come back from this.
        let hostile = TextRedaction(patterns: [String(repeating: "a*", count: 50) + "b"])
        #expect(hostile.redact(String(repeating: "a", count: 1024)).count == 1024)
    }
}
