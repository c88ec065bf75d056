/// The files that tell of a program's code, found once: for what was kept of them, and for what is read.
///
/// For use from one thread at a time.
package final class CodeFiles {
    let finder: DebugFileFinder
    let binary: ELFFile?
    package let debug: ELFFile?

    /// Looks for the files.
    ///
    /// - Parameters:
    ///   - executable: The program's file as it was mapped.
    ///   - program: The same, open; nil to open it by its path.
    ///   - search: Where debug files are looked for.
    package init(of executable: SymbolImage, from program: ProgramFile? = nil, search: DebugFileSearch = .standard) {
        finder = DebugFileFinder(search)
        let files = finder.files(of: executable, opened: program?.opened())
        binary = files.binary
        debug = files.debug
    }

    /// Those that were found.
    var all: [ELFFile] { [binary, debug].compactMap(\.self) }

    /// What they are, a word for each property; nil where that cannot be told.
    ///
    /// Two files with the same words have the same contents.
    func identity() -> [String]? {
        guard let binary, !finder.metUnreadable else { return nil }
        var words: [String] = []
        for file in all {
            // `dwz` moves debug information into one more file.
            guard let identity = file.identity, !file.sections.contains(where: { $0.name == ".gnu_debugaltlink" })
            else { return nil }
            words += [file.path == binary.path ? "program" : file.path, file.buildID ?? "", identity]
        }
        return words
    }
}
