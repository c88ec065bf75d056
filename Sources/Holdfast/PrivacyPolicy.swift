internal import CrashCapture
internal import CrashReports

/// What crash records and reports may tell of the process: deny by default.
///
/// Arguments, the environment, notes and values are redacted before they are written anywhere. The texts of a fatal error, of `abort` and
/// of an uncaught C++ exception are in the record unchanged until its report is made. They are redacted then, whoever makes the report,
/// because the spool file has the rules. No report has contents of the process's memory beyond the instructions at the fault, its registers
/// and return addresses. Labels of items are told unchanged: put no secret into them.
public struct PrivacyPolicy: Sendable, Hashable {
    /// Which arguments are told.
    public struct Arguments: Sendable, Hashable {
        enum Value: Sendable, Hashable {
            case redacted
            case all
            case namesOnly
            case none
        }

        let value: Value

        /// All of them, but secrets are `<redacted>`.
        ///
        /// These are the values of options whose names look like those of secrets, such as `--api-token`, and whatever the rules for texts
        /// find.
        public static let redacted = Arguments(value: .redacted)
        /// All of them, unchanged.
        public static let all = Arguments(value: .all)
        /// The name of the program and the names of options; the rest is `<redacted>`, as is everything behind `--`.
        public static let namesOnly = Arguments(value: .namesOnly)
        /// The name of the program.
        public static let none = Arguments(value: .none)
    }

    /// The variables of the environment that are told; a `*` at the end of a name stands for any ending.
    ///
    /// Their values go through the rules for texts. If the name of a variable looks like that of a secret, such as `APP_DB_PASSWORD`, and
    /// only an `APP_*` allows it, its value is `<redacted>`. List it by its whole name to tell it.
    public var environment: Set<String> {
        get { listed ?? Set(Self.usual) }
        set { listed = newValue == Set(Self.usual) ? nil : newValue }
    }
    /// Nil for the usual ones: a set takes a tenth of a millisecond of each start.
    private var listed: Set<String>?
    private static let usual = [
        "LANG", "LC_ALL", "TZ", "HOLDFAST_STORE", "INVOCATION_ID", "SWIFT_BACKTRACE", "LD_PRELOAD", "GLIBC_TUNABLES",
        "MALLOC_ARENA_MAX",
    ]
    /// Which arguments are told.
    public var arguments = Arguments.redacted
    /// Whether credentials of the usual shapes are taken out of texts.
    ///
    /// These are `password=…`, `Authorization: Bearer …`, `scheme://user:password@host`, private keys, tokens of well-known services.
    public var redactsCredentials = true
    /// Whether e-mail addresses are taken out of texts.
    public var redactsEmailAddresses = false
    /// More words that mark a name as that of a secret, such as `pin`.
    ///
    /// For options, variables, annotations, and `name=value` in texts. Case and separators do not count: `customer_id` is `customerId` and
    /// `--customer-id`, too. Up to 64.
    public var secretNames: [String] = []
    /// Further patterns that are taken out of texts.
    ///
    /// Characters stand for themselves, in any case, except these: `#` is a digit, `?` is one character but no space, `*` is any number of
    /// characters but no spaces, and `\` makes the next character stand for itself. `ACME-####-####` is a customer's number. Up to 64 of
    /// 200 bytes, and 2 KiB together with `secretNames`; the rest does not count.
    public var patterns: [String] = []

    /// Makes a policy with the defaults.
    package init() {}

    /// The rules for texts.
    var redaction: TextRedaction {
        TextRedaction(
            credentials: redactsCredentials,
            emailAddresses: redactsEmailAddresses,
            secretNames: secretNames.map { $0.lowercased() },
            patterns: patterns
        )
    }

    /// What the spool file says for the whole life of the process.
    func told(of environment: [String: String]) -> ToldContext {
        let redaction = redaction
        var told = ToldContext()
        told.environment = environment.filter { isAllowed($0.key) }.sorted { $0.key < $1.key }.map { name, value in
            // A name that the program lists in full is told; a pattern may match a secret by chance.
            let isSecret = redaction.isSecretName(name) && !isListed(name)
            let told = isSecret ? TextRedaction.mark : redaction.redact(value)
            return "\(name)=\(told.utf8.contains(0) ? told.replacing("\0", with: "") : told)"
        }
        told.redactionRules = redaction.spoolRules
        told.redactionFlags = redaction.spoolFlags
        return told
    }

    private func isListed(_ name: String) -> Bool { listed?.contains(name) ?? Self.usual.contains(name) }

    private func isAllowed(_ name: String) -> Bool {
        isListed(name) || listed?.contains { $0.last == "*" && name.hasPrefix($0.dropLast()) } == true
    }
}
