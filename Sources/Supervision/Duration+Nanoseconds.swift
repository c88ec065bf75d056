extension Duration {
    /// Whole nanoseconds, no more than 292 years either way.
    var nanoseconds: Int64 {
        Int64(clamping: attoseconds / 1_000_000_000)
    }
}
