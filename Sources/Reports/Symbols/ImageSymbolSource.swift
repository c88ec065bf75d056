/// Where the names in an image come from.
package enum ImageSymbolSource: Sendable, Hashable {
    /// Files of its own build: how much they know, and their paths.
    case found(Detail, files: [String])
    /// There are only files of another build, such as this one.
    case mismatched(path: String)
    /// There is no file.
    case missing
    /// The image has no build id, so nothing tells which file is its own.
    case unverifiable

    /// How much the files of an image know.
    package enum Detail: Sendable, Hashable {
        /// Functions, files, lines and what was inlined.
        case debugInformation
        /// Functions.
        case symbols
        /// Functions that other images may call.
        case exportedSymbols
    }

    init(_ files: ImageFiles) {
        let used = [files.binary, files.debug].compactMap { $0 }
        if used.isEmpty {
            self = files.mismatch.map { .mismatched(path: $0) } ?? .missing
        } else {
            let detail: Detail =
                if used.contains(where: \.hasDebugInformation), DebugLibrary.problem == nil {
                    .debugInformation
                } else if used.contains(where: \.hasSymbols) {
                    .symbols
                } else {
                    .exportedSymbols
                }
            self = .found(detail, files: used.map(\.path))
        }
    }
}
