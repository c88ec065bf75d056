internal import CrashCapture
internal import CrashReports

/// What crash records and reports may tell of the process: deny by default.
///
/// Arguments, the environment, notes and values are sifted before they are written anywhere. What a fault leaves itself, which is the
/// text of a fatal error, of `abort` and of an uncaught C++ exception, stands as it is in the record until its report is made, and is
/// redacted there, whoever makes it: the rules are in the spool file. No report has contents of the process's memory beyond the
/// instructions at the fault, its registers and return addresses. Labels of items are told as they are: put no secret into them.
public struct PrivacyPolicy: Sendable, Hashable {
    /// What is told of the arguments.
    public struct Arguments: Sendable, Hashable {
        enum Value: Sendable, Hashable {
            case redacted
            case all
            case namesOnly
            case none
        }

        let value: Value

        /// All of them, with `<redacted>` for the values of options whose names look like those of secrets, such as `--api-token`, and
        /// for what the rules for texts find.
        public static let redacted = Arguments(value: .redacted)
        /// All of them as they are.
        public static let all = Arguments(value: .all)
        /// The name of the program and the names of options; anything else is `<redacted>`, as is all behind `--`.
        public static let namesOnly = Arguments(value: .namesOnly)
        /// The name of the program.
        public static let none = Arguments(value: .none)
    }

    /// The variables of the environment that are told; a name that ends with `*` stands for all that begin so.
    ///
    /// Their values go through the rules for texts. A variable whose name looks like that of a secret, such as
    /// `APP_DB_PASSWORD`, is `<redacted>` when only an `APP_*` allows it; one that is listed by its whole name is told.
    public var environment: Set<String> = [
        "LANG", "LC_ALL", "TZ", "HOLDFAST_STORE", "INVOCATION_ID", "SWIFT_BACKTRACE", "LD_PRELOAD", "GLIBC_TUNABLES",
        "MALLOC_ARENA_MAX",
    ]
    /// What is told of the arguments.
    public var arguments = Arguments.redacted
    /// Whether credentials of the usual shapes are taken out of texts: `password=…`, `Authorization: Bearer …`,
    /// `scheme://user:password@host`, private keys, tokens of well-known services.
    public var redactsCredentials = true
    /// Whether addresses of e-mail are.
    public var redactsEmailAddresses = false
    /// More words that make a name that of a secret, such as `pin`, for options, variables, annotations, and `name=value` in
    /// texts.
    ///
    /// Case and what stands between words do not count: `customer_id` is `customerId` and `--customer-id`, too. Up to 64.
    public var secretNames: [String] = []
    /// What else is taken out of texts.
    ///
    /// Characters stand for themselves, whatever their case, apart from these: `#` is a digit, `?` is one character but no space, `*`
    /// is any number of characters but no spaces, and `\` takes the meaning from the next. `ACME-####-####` is a customer's number.
    /// Up to 64 of 200 bytes, and 2 KiB of them and of `secretNames` together: what is beyond that does not count.
    public var patterns: [String] = []

    /// Makes a policy with the defaults.
    public init() {}

    /// The rules for texts.
    var redaction: TextRedaction {
        TextRedaction(
            credentials: redactsCredentials,
            emailAddresses: redactsEmailAddresses,
            secretNames: secretNames.map { $0.lowercased() },
            patterns: patterns
        )
    }

    /// What the spool file says for all of the life of the process.
    func told(of environment: [String: String]) -> ToldContext {
        let redaction = redaction
        var told = ToldContext()
        told.environment = environment.filter { isAllowed($0.key) }.sorted { $0.key < $1.key }.map { name, value in
            // Whoever wrote out the name of a secret wants it told; a pattern may have found it by chance.
            let isSecret = redaction.isSecretName(name) && !self.environment.contains(name)
            let told = isSecret ? TextRedaction.mark : redaction.redact(value)
            return "\(name)=\(told.replacing("\0", with: ""))"
        }
        told.redactionRules = redaction.spoolRules
        told.redactionFlags = redaction.spoolFlags
        return told
    }

    private func isAllowed(_ name: String) -> Bool {
        environment.contains { $0.last == "*" ? name.hasPrefix($0.dropLast()) : name == $0 }
    }
}
