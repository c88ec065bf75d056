internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// Why a program did not begin.
struct StartFailure: Error, Sendable, Hashable {
    /// What failed.
    enum Stage: String, Sendable {
        case fork = "fork"
        case processGroup = "process group"
        case parent = "parent"
        case directory = "working directory"
        case descriptors = "descriptors"
        case notFound = "not found"
        case notExecutable = "not executable"
        case interpreter = "bad interpreter"
        case format = "not a program"
        case exec = "exec"
    }

    let stage: Stage
    /// The number of the error, as errno(3) has it.
    let error: CInt
    /// What happened and what to do.
    let text: String

    /// The exit status of the supervisor, as env(1) and nohup(1) have it: 127 for what was not found, 126 for what cannot be run.
    var status: CInt { stage == .notFound ? 127 : 126 }

    /// A failure before there was a child.
    init(fork error: Errno) {
        stage = .fork
        self.error = error.rawValue
        text = "no process could be made: \(error)"
    }

    /// A command without a slash that is in no folder of `PATH`.
    init(notInPath command: String, searched: String) {
        stage = .notFound
        error = ENOENT
        text = "\(command): not found in PATH, which has \(searched.split(separator: ":").count) folders"
    }

    /// What a child has told before it became the program.
    init(_ failure: HFStartFailure, path: String, directory: String?) {
        error = failure.error
        let reason = Errno(rawValue: failure.error)
        switch failure.stage {
        case Int32(HFStartStageGroup):
            stage = .processGroup
            text = "no process group could be made: \(reason)"
        case Int32(HFStartStageParent):
            stage = .parent
            text = "the end of the supervisor could not be watched: \(reason)"
        case Int32(HFStartStageDirectory):
            stage = .directory
            text = "\(directory ?? ""): cannot work there: \(reason)"
        case Int32(HFStartStageDescriptors):
            stage = .descriptors
            text = "its descriptors could not be made: \(reason)"
        default:
            // From where the child had gone to.
            let place = path.hasPrefix("/") ? path : "\(directory ?? ".")/\(path)"
            (stage, text) = Self.exec(failure.error, path, at: place)
        }
    }

    private static func exec(_ error: CInt, _ path: String, at place: String) -> (Stage, String) {
        switch error {
        case ENOENT where unsafe access(place, F_OK) == 0:
            // execve(2): ENOENT is also that of the interpreter, of a script or of a dynamically linked program.
            let script = firstLine(of: place).map { " (\($0))" } ?? ""
            return (.interpreter, "\(path): its interpreter is not there\(script)")
        case ENOENT, ENOTDIR: return (.notFound, "\(path): not found")
        case EACCES where isFolder(place): return (.notExecutable, "\(path): is a folder")
        case EACCES where unsafe access(place, X_OK) == 0:
            return (.notExecutable, "\(path): no permission: its folder or its interpreter")
        case EACCES where isOnNoexec(place):
            return (.notExecutable, "\(path): its file system lets nothing be executed (noexec, mount(8))")
        case EACCES: return (.notExecutable, "\(path): not executable; chmod +x makes it so")
        case ENOEXEC, ELIBBAD:
            return (.format, "\(path): no program of this machine; a script needs a first line such as #!/bin/sh")
        case ELOOP: return (.notFound, "\(path): too many symbolic links")
        default: return (.exec, "\(path): \(Errno(rawValue: error))")
        }
    }

    private static func isOnNoexec(_ path: String) -> Bool {
        var status = statvfs()
        // ST_NOEXEC of statvfs(3), which needs _GNU_SOURCE.
        return unsafe statvfs(path, &status) == 0 && status.f_flag & 8 != 0
    }

    private static func isFolder(_ path: String) -> Bool {
        var status = stat()
        return unsafe stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// The first line of a script, without its mark; nil for what is none.
    private static func firstLine(of path: String) -> String? {
        guard let file = try? OwnedDescriptor(reading: FilePath(path), followingLinks: true),
            let bytes = try? file.readAll(limit: 127)
        else { return nil }
        guard bytes.prefix(2).elementsEqual("#!".utf8) else { return nil }
        let line = bytes.dropFirst(2).prefix { $0 != 10 }
        return String(decoding: line.map { (0x20..<0x7f).contains($0) ? $0 : 0x3f }, as: UTF8.self)
    }
}

/// Finds the file of a command.
enum CommandSearch {
    /// The file of a command as a shell finds it: itself if it has a slash, else the first one in `PATH` that can be run.
    ///
    /// - Parameters:
    ///   - command: The command.
    ///   - path: `PATH`; nil for the one that execvp(3) takes without.
    /// - Returns: The path of the file, which need not exist.
    /// - Throws: `StartFailure`, if no folder has it.
    static func file(of command: String, path: String?) throws(StartFailure) -> String {
        if command.contains("/") { return command }
        let path = path ?? "/bin:/usr/bin"
        var found: String?
        for folder in path.split(separator: ":", omittingEmptySubsequences: false) {
            let candidate = folder.isEmpty ? "./\(command)" : "\(folder)/\(command)"
            var status = stat()
            guard unsafe stat(candidate, &status) == 0, status.st_mode & S_IFMT == S_IFREG else { continue }
            if unsafe access(candidate, X_OK) == 0 { return candidate }
            found = found ?? candidate
        }
        // One that is there and may not be run says more than that there is none.
        if let found { return found }
        throw StartFailure(notInPath: command, searched: path)
    }
}
