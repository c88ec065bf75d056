import ArgumentParser
import Glibc
import SystemPackage

/// A file or a folder that a user named for output; `-` is the standard output.
struct OutputFile {
    let path: String

    init(_ path: String) {
        self.path = path
    }

    /// Whether it is the standard output.
    var isStandardOutput: Bool { path == "-" }

    /// Whether it is meant to be a folder: it is one, or is written like one.
    var isFolder: Bool {
        var status = stat()
        let isThere = unsafe stat(path, &status) == 0
        return isThere ? status.st_mode & S_IFMT == S_IFDIR : path.hasSuffix("/")
    }

    /// Writes bytes, in the place of what was there; what cannot be written is said, and the exit status thrown.
    ///
    /// A new file is for its owner only, as reports are; one that is there keeps its mode. See ``OutputTarget``.
    func write(_ bytes: [UInt8]) throws {
        guard !isStandardOutput else { return try Output.write(bytes: bytes) }
        do {
            try OutputTarget(of: FilePath(path)).write(bytes)
        } catch Errno.brokenPipe {
            // A FIFO, or /dev/stdout: whoever reads has seen enough.
            throw ExitCode.success
        } catch {
            throw Self.failure(path, error)
        }
    }

    /// Makes the folder if it is not there.
    func createFolder() throws {
        guard unsafe mkdir(path, 0o700) != 0 else { return }
        let error = Errno(rawValue: errno)
        guard error != .fileExists || !isFolder else { return }
        throw Self.failure(path, error)
    }

    /// A file in this folder.
    func file(_ name: String) -> OutputFile {
        OutputFile(FilePath(path).appending(name).string)
    }

    private static func failure(_ path: String, _ error: any Error) -> ExitCode {
        Output.complain("cannot write \(path): \(error)")
        return ExitStatus.cannotWrite
    }
}
