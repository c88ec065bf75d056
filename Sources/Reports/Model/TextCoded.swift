/// A value that is a string of one form in JSON.
protocol TextCoded: Codable, CustomStringConvertible {
    /// What the form is, for whoever reads the error.
    static var form: String { get }

    /// Reads the value; nil where the text does not have the form.
    init?(_ text: String)
}

extension TextCoded {
    /// Reads the value from its text.
    ///
    /// - Parameter decoder: Gives a string.
    /// - Throws: `DecodingError` when the string does not have the form.
    public init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        guard let value = Self(try container.decode(String.self)) else {
            throw DecodingError.dataCorruptedError(in: container, debugDescription: "not \(Self.form)")
        }
        self = value
    }

    /// Writes the value as its description.
    ///
    /// - Parameter encoder: Takes a string.
    /// - Throws: Errors of the encoder.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        try container.encode(description)
    }
}
