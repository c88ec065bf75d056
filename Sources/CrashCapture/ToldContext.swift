internal import CCrashCapture

/// What a spool file says of the environment, and how texts that come out of it are redacted.
public struct ToldContext: Sendable {
    /// The variables that may be told, as `name=value`.
    public var environment: [String] = []
    /// Rules by which texts are redacted, as `TextRedaction` of CrashReports writes them.
    public var redactionRules: [String] = []
    /// Bits that go with the rules.
    public var redactionFlags: UInt32 = UInt32(HF_REDACTION_BUILT_IN)

    /// Tells nothing of the environment, and has no rules but the built-in ones.
    public init() {}

    /// Writes it into the section of a fresh spool file.
    func write(to header: UnsafeMutablePointer<HFSpoolHeader>) {
        unsafe Self.withTexts(environment) { environment in
            unsafe Self.withTexts(redactionRules) { rules in
                unsafe hf_context_describe(
                    header,
                    environment.baseAddress,
                    environment.count,
                    rules.baseAddress,
                    rules.count,
                    redactionFlags
                )
            }
        }
    }

    /// The texts one after the other, each with a NUL at its end.
    private static func withTexts(_ texts: [String], _ body: (UnsafeBufferPointer<CChar>) -> Void) {
        var bytes: [CChar] = []
        for text in texts { bytes += text.utf8.map { CChar(bitPattern: $0) } + [0] }
        unsafe bytes.withUnsafeBufferPointer(body)
    }
}
