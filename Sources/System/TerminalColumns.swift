import CLinuxShims

/// How wide terminals show characters.
public enum TerminalColumns {
    /// The number of columns of a Unicode scalar; nil if the C library does not know it.
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
