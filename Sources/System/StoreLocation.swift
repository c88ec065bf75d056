package import SystemPackage

/// Where reports go when nobody says otherwise: one rule for who writes them, who reads them, and the supervisor.
package enum StoreLocation {
    /// The place that an environment says; nil if it says none.
    ///
    /// In this order: `HOLDFAST_STORE`; the first of the directories in `STATE_DIRECTORY`, which systemd sets;
    /// `holdfast` in `XDG_STATE_HOME`; `.local/state/holdfast` in `HOME`. Empty variables count as unset, and so does a
    /// relative `XDG_STATE_HOME`.
    ///
    /// - Parameter environment: The environment.
    /// - Returns: The path of the store, which may be relative.
    package static func path(environment: [String: String]) -> FilePath? {
        func value(_ name: String) -> String? {
            guard let value = environment[name], !value.isEmpty else { return nil }
            return value
        }
        if let store = value("HOLDFAST_STORE") { return FilePath(store) }
        if let first = value("STATE_DIRECTORY")?.split(separator: ":").first { return FilePath(String(first)) }
        if let state = value("XDG_STATE_HOME"), FilePath(state).isAbsolute {
            return FilePath(state).appending("holdfast")
        }
        return value("HOME").map { FilePath($0).appending(".local/state/holdfast") }
    }
}
