extension SpoolContents {
    /// Where the header has the limits: three numbers of 8 bytes, and their check.
    private static let limitsOffset = 3232
    private static let limitsCheck: UInt64 = 0x7369_6d69_6c5f_6668

    /// How much the store of the process may hold; nil where the header says nothing of it, or nothing that can be believed.
    static func limits(_ file: RecordBytes) -> ReportStore.Limits? {
        let words = (0..<3).map { file.integer(limitsOffset + 8 * $0, as: UInt64.self) }
        guard !words.contains(0), file.integer(limitsOffset + 24, as: UInt64.self) == words.reduce(limitsCheck, ^)
        else { return nil }
        let limits = words.map { $0 == .max ? nil : Int(clamping: $0 - 1) }
        return ReportStore.Limits(reports: limits[0], bytes: limits[1], age: limits[2].map { .seconds($0) })
    }
}
