import CLinuxShims

/// How wide terminals show characters.
public enum TerminalColumns {
    /// Counts the columns of a scalar of Unicode; nil for one that the C library does not know.
    ///
    /// The corresponding C function is `wcwidth`, in a locale of UTF-8.
    ///
    /// - Parameter scalar: The scalar.
    /// - Returns: 0, 1 or 2.
    public static func of(_ scalar: Unicode.Scalar) -> Int? {
        let columns = hf_character_columns(scalar.value)
        return columns < 0 ? nil : Int(columns)
    }
}
