/// Finds the files that tell of an image: by build id, by path, by name, and by `.gnu_debuglink`.
///
/// Used by one thread at a time.
final class DebugFileFinder {
    private let search: DebugFileSearch
    private lazy var filesByBuildID = indexFiles()
    /// Whether a file could not be opened that may tell more.
    private(set) var metUnreadable = false

    /// Makes a finder; no file is opened yet.
    ///
    /// - Parameter search: Where to look.
    init(_ search: DebugFileSearch) {
        self.search = search
    }

    /// Finds the files of an image.
    ///
    /// - Parameters:
    ///   - image: The image; without a build id its file is taken as it is.
    ///   - opened: Its file, if that is open already.
    /// - Returns: What was found, which may be nothing.
    func files(of image: SymbolImage, opened: OpenedFile? = nil) -> ImageFiles {
        var files = ImageFiles()
        let expected = image.buildID?.lowercased()
        if let file = opened.map({ ELFFile($0, path: image.path) }) ?? file(image.path) {
            if expected == nil || expected == file.buildID {
                files.binary = file
            } else {
                files.mismatch = image.path
            }
        }
        if files.binary == nil, let expected {
            files.binary = binary(buildID: expected, path: image.path, &files.mismatch)
        }
        if let binary = files.binary, binary.hasDebugInformation { return files }
        files.debug = debugFile(buildID: expected ?? files.binary?.buildID, path: image.path, &files.mismatch)
        if files.debug == nil, let binary = files.binary { files.debug = linkedDebugFile(of: binary, &files.mismatch) }
        return files
    }

    /// Finds the debug file with what `dwz` took out of several others, for `.gnu_debugaltlink`.
    ///
    /// - Parameters:
    ///   - buildID: The build id that it must have.
    ///   - name: The name that it is given, from the root or from the folder of the file that names it.
    ///   - path: The file that names it.
    /// - Returns: The file; nil when there is none of that build.
    func alternateFile(buildID: String, name: String, namedBy path: String) -> ELFFile? {
        let beside = name.hasPrefix("/") ? name : folder(of: path) + "/" + name
        let candidates = search.directories.compactMap { buildIDPath(buildID, in: $0, suffix: ".debug") } + [beside]
        for candidate in candidates {
            if let file = file(candidate, isLoadable: false), file.buildID == buildID { return file }
        }
        return nil
    }

    private func file(_ path: String, isLoadable: Bool = true) -> ELFFile? {
        do throws(OpenedFile.Problem) {
            return try ELFFile(OpenedFile(path: path), path: path, isLoadable: isLoadable)
        } catch {
            if error == .unreadable { metUnreadable = true }
            return nil
        }
    }

    // MARK: By build id

    /// The executable or library itself, somewhere else.
    private func binary(buildID: String, path: String, _ mismatch: inout String?) -> ELFFile? {
        var candidates = filesByBuildID[buildID] ?? []
        for directory in search.directories {
            if let path = buildIDPath(buildID, in: directory, suffix: "") { candidates.append(path) }
            candidates += [directory + "/" + path, directory + "/" + name(of: path)]
        }
        return firstFile(of: candidates, buildID: buildID, &mismatch) { $0.hasCode }
    }

    private func debugFile(buildID: String?, path: String, _ mismatch: inout String?) -> ELFFile? {
        guard let buildID else { return nil }
        var candidates = filesByBuildID[buildID] ?? []
        for directory in search.directories {
            if let path = buildIDPath(buildID, in: directory, suffix: ".debug") { candidates.append(path) }
            for path in [path, "/" + name(of: path)] {
                candidates += [directory + "/" + path + ".debug", directory + "/" + path]
            }
        }
        return firstFile(of: candidates, buildID: buildID, &mismatch) { $0.hasDebugInformation }
            ?? firstFile(of: candidates, buildID: buildID, &mismatch) { $0.hasSymbols }
    }

    private func firstFile(
        of candidates: [String],
        buildID: String,
        _ mismatch: inout String?,
        where isWanted: (ELFFile) -> Bool
    ) -> ELFFile? {
        for candidate in candidates {
            guard let file = file(candidate) else { continue }
            guard file.buildID == buildID else {
                mismatch = mismatch ?? candidate
                continue
            }
            if isWanted(file) { return file }
        }
        return nil
    }

    /// `ab/cdef…` of build ids: what debuggers and packages agree on.
    private func buildIDPath(_ buildID: String, in directory: String, suffix: String) -> String? {
        // Hexadecimal digits and nothing else, for a report's build id may be anything, such as a path.
        guard buildID.utf8.count > 2, buildID.allSatisfy({ $0.isASCII && $0.isHexDigit }) else { return nil }
        return "\(directory)/.build-id/\(buildID.prefix(2))/\(buildID.dropFirst(2))\(suffix)"
    }

    private func indexFiles() -> [String: [String]] {
        var index: [String: [String]] = [:]
        for path in search.files {
            guard let buildID = file(path)?.buildID else { continue }
            index[buildID, default: []].append(path)
        }
        return index
    }

    // MARK: By link

    private func linkedDebugFile(of binary: ELFFile, _ mismatch: inout String?) -> ELFFile? {
        guard let link = binary.debugLink else { return nil }
        let folder = folder(of: binary.path)
        var candidates = [folder + "/" + link.name, folder + "/.debug/" + link.name]
        candidates += search.directories.flatMap { [$0 + folder + "/" + link.name, $0 + "/" + link.name] }
        for candidate in candidates where candidate != binary.path {
            guard let file = file(candidate) else { continue }
            // The build id says more than the checksum, and does not take the whole file to be read.
            let fits: Bool
            if let expected = binary.buildID, let found = file.buildID {
                fits = expected == found
            } else {
                fits = file.checksum() == link.checksum
            }
            guard fits else {
                mismatch = mismatch ?? candidate
                continue
            }
            if file.hasDebugInformation || file.hasSymbols { return file }
        }
        return nil
    }

    private func folder(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[..<$0]) } ?? "."
    }

    private func name(of path: String) -> String {
        path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path
    }
}

/// The files that tell of an image.
struct ImageFiles {
    /// The executable or library itself.
    var binary: ELFFile?
    /// Its separate debug file, where the image itself has no debug information.
    var debug: ELFFile?
    /// The first file that was looked at and is of another build.
    var mismatch: String?
}
