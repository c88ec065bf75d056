public import SystemPackage

extension ReportStore {
    /// Where the store is when nobody says otherwise.
    ///
    /// In this order: `HOLDFAST_STORE`; the first of the directories in `STATE_DIRECTORY`, which systemd sets;
    /// `holdfast` in `XDG_STATE_HOME`; `.local/state/holdfast` in `HOME`. Empty variables count as unset, and so does a
    /// relative `XDG_STATE_HOME`.
    ///
    /// - Parameters:
    ///   - environment: The environment.
    ///   - isTrusted: Whether the environment may say it: not in a set-user-ID program, whose caller writes it.
    /// - Returns: The path of the store.
    /// - Throws: `ReportStoreError` when none of the variables is set, or they are not believed.
    public static func defaultPath(
        environment: [String: String],
        isTrusted: Bool = true
    ) throws(ReportStoreError) -> FilePath {
        guard isTrusted else { throw ReportStoreError(.untrustedLocation, FilePath()) }
        func value(_ name: String) -> String? {
            guard let value = environment[name], !value.isEmpty else { return nil }
            return value
        }
        if let store = value("HOLDFAST_STORE") { return FilePath(store) }
        if let first = value("STATE_DIRECTORY")?.split(separator: ":").first { return FilePath(String(first)) }
        if let state = value("XDG_STATE_HOME"), FilePath(state).isAbsolute {
            return FilePath(state).appending("holdfast")
        }
        if let home = value("HOME") { return FilePath(home).appending(".local/state/holdfast") }
        throw ReportStoreError(.noLocation, FilePath())
    }
}
