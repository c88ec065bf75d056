/// Where files with symbols are looked for, beside where an image says that it was.
///
/// A file is used only if it has the build id of the image; a file that `.gnu_debuglink` names, for want of a build id, only if it
/// has the checksum that stands there.
package struct DebugFileSearch: Sendable, Hashable {
    /// Folders that are laid out as `/usr/lib/debug` is, by build id (`.build-id/ab/cdef….debug`) or by path, and folders that
    /// have the files themselves, by name.
    package var directories: [String]

    /// Executables, libraries and debug files, whatever they are called.
    package var files: [String]

    /// Where a system keeps its debug files.
    package static let systemDirectories = ["/usr/lib/debug"]

    /// What is searched when nothing else is said: the system's debug files.
    package static let standard = DebugFileSearch(directories: systemDirectories)

    /// The same, and the program of this process, whose file may have been replaced or deleted since it began.
    ///
    /// Also that of the process before a restart in place, if its file was deleted: then the same one runs again.
    package static let ofThisProcess = DebugFileSearch(directories: systemDirectories, files: ["/proc/self/exe"])

    /// Creates a search.
    ///
    /// - Parameters:
    ///   - directories: Folders, the first to be searched first.
    ///   - files: Files, the first that fits is used.
    package init(directories: [String] = [], files: [String] = []) {
        self.directories = directories
        self.files = files
    }
}
