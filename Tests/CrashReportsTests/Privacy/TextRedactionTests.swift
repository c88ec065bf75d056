import Testing

@testable import CrashReports

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
        ("cut off+/\nMHcQ\r\nAA==\n-----END PRIVATE KEY-----\nx", "cut off+/\n<redacted>-----END PRIVATE KEY-----\nx"),
        ("WJ8+a/\nMHcQ==\n-----END RSA PRIVATE KEY-----", "<redacted>-----END RSA PRIVATE KEY-----"),
    ])
    func `Credentials are taken out`(text: String, redacted: String) {
        #expect(TextRedaction().redact(text) == redacted)
        #expect(TextRedaction().redact(redacted) == redacted, "once more changes nothing")
    }

    @Test(arguments: [
        (#"password: Optional("hunter2") of joe"#, "password: <redacted> of joe"),
        (#"password: Optional(Optional("hunter2")), 1"#, "password: <redacted>, 1"),
        (#"token: ["abcdefsecret", "b"] (2)"#, "token: <redacted> (2)"),
        (#"token=Token(value: "SEC)RET").value user=joe"#, "token=<redacted> user=joe"),
        ("tokens: {\n  a: SECRET,\n  b: SECRET\n}\nnext", "tokens: <redacted>\nnext"),
        ("(token: Token(SECRET), user: joe)", "(token: <redacted>, user: joe)"),
        ("token=(cut SECRET\nnext", "token=<redacted>\nnext"),
        (#"token=Token("SECRET and no end"#, "token=<redacted>"),
        ("password=b'hunter2' x", "password=<redacted> x"),
        (#"token=value="SECRET one" x"#, "token=<redacted> x"),
        (#"token=a"SECRET no end"#, "token=<redacted>"),
        (#"the text "password=hunter2" is none"#, #"the text "password=<redacted>" is none"#),
        ("'password=hunter2', 'user=joe'", "'password=<redacted>', 'user=joe'"),
        ("token: don't tell", "token: <redacted> tell"),
    ])
    func `What is opened in a value belongs to it until it is closed`(text: String, redacted: String) {
        #expect(TextRedaction().redact(text) == redacted)
        #expect(TextRedaction().redact(redacted) == redacted, "once more changes nothing")
    }

    @Test(arguments: [
        (#""password"=>"hunter2""#, #""password"=>"<redacted>""#),
        (#"password == "hunter2""#, #"password == "<redacted>""#),
        ("password := hunter2", "password := <redacted>"),
        ("password=\thunter2", "password=\t<redacted>"),
        ("password\t: \t hunter2", "password\t: \t <redacted>"),
        ("password:\nhunter2\nnext", "password:\n<redacted>\nnext"),
        ("password:\r\n\r\n  aHVudGVyMg==", "password:\r\n\r\n  <redacted>"),
        // What has a name of its own goes by that.
        ("PASSWORD=\nUSER=joe\nTOKEN=x", "PASSWORD=\nUSER=joe\nTOKEN=<redacted>"),
        ("secrets:\n  user: joe\n  password: hunter2", "secrets:\n  user: joe\n  password: <redacted>"),
        ("invalid token: password: hunter2", "invalid token: <redacted>: <redacted>"),
        ("password:\n\n", "password:\n\n"), ("token: =", "token: ="),
    ])
    func `A value may stand behind any spaces and signs`(text: String, redacted: String) {
        #expect(TextRedaction().redact(text) == redacted)
        #expect(TextRedaction().redact(redacted) == redacted, "once more changes nothing")
    }

    @Test(arguments: [
        ("Cookie: lang=en; sid=SECRET\nHost: a", "Cookie: <redacted>\nHost: a"),
        (#"set-cookie=a="1"; b=SECRET"#, "set-cookie=<redacted>"),
        (#"cookie="1"; b=SECRET"#, "cookie=<redacted>"),
        ("Cookie: [a,\nb]; c=SECRET\nnext", "Cookie: <redacted>\nnext"),
        ("Cookie:\nHost: a", "Cookie:\nHost: a"),
        (#"["Cookie": "lang=en; sid=SECRET", "Host": "a"]"#, #"["Cookie": "<redacted>", "Host": "a"]"#),
        ("authorization=<redacted> user=joe", "authorization=<redacted> user=joe"),
        ("Authorization: ApiKey SECRET", "Authorization: <redacted>"),
        ("Proxy-Authorization: Negotiate SECRET==\r\nx", "Proxy-Authorization: <redacted>\r\nx"),
        (#"Authorization: Digest username="joe", response="SECRET""#, "Authorization: Digest <redacted>"),
        ("Authorization: Basic c2VjcmV0 for joe", "Authorization: Basic <redacted> for joe"),
    ])
    func `Headers with credentials are taken out to the end of their line`(text: String, redacted: String) {
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

    @Test func `What stands between the words of a name does not count`() {
        let names = ["customer_id", "Card-Number", "clé", "--"]
        let redaction = TextRedaction(secretNames: names)
        #expect(
            redaction.redact("customer_id=4711 customerId: 4711 CUSTOMER-ID=4711 card-number: 4111 clé=7")
                == "customer_id=<redacted> customerId: <redacted> CUSTOMER-ID=<redacted> card-number: <redacted> clé=<redacted>"
        )
        #expect(redaction.isSecretName("--cardnumber"))
        // A rule of nothing but signs would be in every name; a letter beyond ASCII is not left out of one.
        #expect(redaction.redact("customer=joe client=a") == "customer=joe client=a")
        #expect(!TextRedaction(secretNames: ["--", "", "_"]).isSecretName("port"))
        let read = TextRedaction(spoolRules: redaction.spoolRules, flags: redaction.spoolFlags)
        #expect(read.redact("card.number=1 cardNumber=4111") == "card.number=1 cardNumber=<redacted>")
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
            "*", "(", ")", "[", "}", "\n", "Cookie:", ">", "token=(",
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

    /// Each of these would be looked through to its end, or back to its beginning, from each of its places.
    @Test(arguments: [
        "token=(", "token=(\n", "token=a\"b", "token=a\\\"b\\\n", "token=a\"b\"c", "password:\n", "cookie=\"\n",
        "cookie=[\n", "token: (\"\n", "token== ", "token=\t", "secret:", "\"'", "a ",
    ])
    func `The work for a text grows with its length`(part: String) {
        func looks(_ count: Int) -> Int {
            let text = String(repeating: part, count: count / part.utf8.count) + "token=SECRET"
            let counter = ScannedText.LookCounter()
            #expect(!TextRedaction().redact(text, counting: counter).hasSuffix("SECRET"))
            return counter.looks
        }
        let (short, long) = (looks(4000), looks(64_000))
        #expect(short >= 4000)
        // Sixteen times as long; the square would be 256 times.
        #expect(long < short * 20, "\(short) and \(long)")
    }
}
