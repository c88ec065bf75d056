/// What is taken out of texts before they are kept: credentials, and what a program adds.
///
/// Every rule takes time in proportion to the text, so that rules may come out of a spool file, and texts from a process that went
/// wrong. What a rule finds reads `<redacted>` afterwards. A rule knows shapes, not secrets: what has no name and no shape stays.
package struct TextRedaction: Sendable, Hashable {
    /// What stands for what was taken out.
    package static let mark = "<redacted>"

    /// Whether credentials of the usual shapes are taken out: `password=…`, `Authorization: Bearer …`,
    /// `scheme://user:password@host`, private keys in PEM, tokens in the form of JWT, and those of some well-known services.
    package var credentials: Bool
    /// Whether addresses of e-mail are.
    package var emailAddresses: Bool
    /// More words that make a name that of a secret, such as `pin`.
    ///
    /// Case and what stands between words do not count: `customer_id` is `customerId` and `--customer-id`, too. What has neither
    /// letters nor digits does not count at all.
    package var secretNames: [String]
    /// What else is taken out: see `TextPattern`.
    package var patterns: [String]

    /// More names and patterns than these do not count.
    static let maximumRules = 64
    /// More bytes of UTF-8 of a name or a pattern do not count.
    static let maximumRuleSize = 200

    /// Makes rules.
    ///
    /// - Parameters:
    ///   - credentials: Whether credentials of the usual shapes are taken out.
    ///   - emailAddresses: Whether addresses of e-mail are.
    ///   - secretNames: More words that make a name that of a secret.
    ///   - patterns: What else is taken out.
    package init(
        credentials: Bool = true,
        emailAddresses: Bool = false,
        secretNames: [String] = [],
        patterns: [String] = []
    ) {
        self.credentials = credentials
        self.emailAddresses = emailAddresses
        self.secretNames = secretNames
        self.patterns = patterns
    }

    /// The text without what the rules find.
    package func redact(_ text: String) -> String { redact(text, counting: nil) }

    /// The same, with a count of how often bytes of the text are looked at.
    func redact(_ text: String, counting counter: ScannedText.LookCounter?) -> String {
        guard !text.isEmpty else { return text }
        var scanner = RedactionScanner(Array(text.utf8), counting: counter)
        if credentials || !secretNames.isEmpty {
            let ownWords = ownWords
            scanner.redactNamedValues { isSecretName($0, ownWords) }
        }
        if credentials {
            scanner.redactAuthorizations()
            scanner.redactURLCredentials()
            scanner.redactPrivateKeys()
            scanner.redactTokens()
        }
        if emailAddresses { scanner.redactEmailAddresses() }
        for pattern in patterns.prefix(Self.maximumRules) {
            scanner.redact(TextPattern(String(pattern.prefix(Self.maximumRuleSize))))
        }
        return scanner.isChanged ? String(decoding: scanner.bytes, as: UTF8.self) : text
    }

    /// The words that make a name that of a secret.
    private static let secretWords = [
        "password", "passwd", "passphrase", "pwd", "secret", "token", "apikey", "accesskey", "privatekey", "credential",
        "authorization", "cookie", "sessionid",
    ].map { Array($0.utf8) }
    /// The words that do so only where they are a word of the name by themselves: `key`, and not `monkey`.
    private static let secretWholeWords = ["key", "auth", "pass", "jwt", "creds", "otp"].map { Array($0.utf8) }

    /// Whether a name, such as that of an option or of a variable, looks like that of a secret.
    package func isSecretName(_ name: String) -> Bool {
        isSecretName(RedactionName(Array(name.utf8.prefix(100))[...]), ownWords)
    }

    /// The program's names, as they are looked for in a name.
    private var ownWords: [[UInt8]] {
        secretNames.prefix(Self.maximumRules)
            .map { RedactionName(Array($0.utf8.prefix(Self.maximumRuleSize))[...]).bytes }
            .filter { !$0.isEmpty }
    }

    /// The same of a name in a text: it is asked for every `:`.
    private func isSecretName(_ name: RedactionName, _ ownWords: [[UInt8]]) -> Bool {
        if credentials {
            if Self.secretWords.contains(where: name.contains) { return true }
            if Self.secretWholeWords.contains(where: name.hasWord) { return true }
        }
        return ownWords.contains(where: name.contains)
    }
}

extension TextRedaction {
    /// The rules as lines of a spool file: `n` and a name, or `p` and a pattern.
    package var spoolRules: [String] {
        secretNames.prefix(Self.maximumRules).map { "n\($0.prefix(Self.maximumRuleSize))" }
            + patterns.prefix(Self.maximumRules).map { "p\($0.prefix(Self.maximumRuleSize))" }
    }

    /// The bits that go with them: 1 for credentials, 2 for addresses of e-mail.
    package var spoolFlags: UInt32 { (credentials ? 1 << 1 : 0) | (emailAddresses ? 1 << 2 : 0) }

    /// Reads the rules of a spool file.
    init(spoolRules lines: [String], flags: UInt32) {
        func rules(_ kind: Character) -> [String] {
            lines.filter { $0.first == kind }.prefix(Self.maximumRules).map { String($0.dropFirst()) }
        }
        self.init(
            credentials: flags & 1 << 1 != 0,
            emailAddresses: flags & 1 << 2 != 0,
            secretNames: rules("n"),
            patterns: rules("p")
        )
    }
}
