extension ReportStore {
    /// Looks at everything in the store, and says what is not as it should be and what to do about it.
    ///
    /// Reads every report. Writers wait while something is repaired, and not otherwise.
    ///
    /// - Parameters:
    ///   - limits: What the store may hold; its own limits if nil.
    ///   - repair: Whether to put right what can be put right without losing anything: modes, leftovers, the index.
    ///   - progress: Called now and then while files are read, with how many were read and how many will be.
    /// - Returns: The findings; none for a store that does not exist.
    public func verify(
        limits: Limits? = nil,
        repair: Bool = false,
        progress: ((_ done: Int, _ total: Int) -> Void)? = nil
    ) -> StoreVerification {
        var check = StoreCheck(self, limits: limits, repairs: repair)
        check.run(progress: progress)
        return check.result
    }
}
