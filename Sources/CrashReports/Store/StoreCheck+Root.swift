internal import LinuxSystem
internal import SystemPackage

extension StoreCheck {
    /// Looks for what was put beside the folders of the store instead of into them.
    ///
    /// The store may be a state directory, which others keep their files in: only names that this package gives count.
    mutating func checkRoot() {
        // Why it cannot be opened is said by whoever looks at the reports.
        guard let folder = try? store.openRoot(), let names = try? folder.names() else { return }
        for name in names.sorted() {
            guard let place = Self.place(of: name, in: store) else { continue }
            note(
                .strangeFile,
                store.path.appending(name),
                "it has the name of \(place.content), which nobody looks for here",
                advice: "move it into \(place.folder)"
            )
        }
    }

    private static func place(of name: String, in store: ReportStore) -> (content: String, folder: FilePath)? {
        if name.hasSuffix(".json"), ReportID(rawValue: String(name.dropLast(5))) != nil {
            return ("a report", store.reportsPath)
        }
        // A process and the time of its start.
        let isOfDigits = name.prefix { $0 != "." }.allSatisfy { ("0"..."9").contains($0) || $0 == "-" }
        guard isOfDigits, name.hasSuffix(".spool") || name.hasSuffix(".spool.damaged") else { return nil }
        return ("records of faults", store.spoolPath)
    }
}
