extension CrashReport {
    /// Makes the fingerprint and the diagnosis anew, of everything else that the report says.
    ///
    /// For whoever made a report, named its functions later, or counted another fault in it.
    package mutating func explain() {
        fingerprint = Fingerprint(of: self)
        diagnosis = Diagnosis(of: self)
    }

    /// Adds how the process ended, by which its fault may look different: a signal that was a watchdog's.
    package mutating func add(_ death: Death) {
        self.death = death
        diagnosis = Diagnosis(of: self)
    }
}
