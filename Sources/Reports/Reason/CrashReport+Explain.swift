extension CrashReport {
    /// Makes the fingerprint and the diagnosis anew, of everything else that the report says.
    ///
    /// For whoever made a report, named its functions later, or counted another fault in it.
    package mutating func explain() {
        fingerprint = Fingerprint(of: self)
        diagnosis = Diagnosis(of: self)
    }
}
