internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// Starts a process of which only the end matters: without input and output.
enum QuietChild {
    /// Starts it, in a process group of its own.
    ///
    /// - Parameters:
    ///   - command: The program and its arguments; not empty.
    ///   - environment: Its environment.
    ///   - directory: Where it works; nil for where this process does.
    /// - Returns: Its number.
    /// - Throws: `StartFailure`.
    static func start(
        _ command: [String],
        environment: [String: String],
        directory: String?
    ) throws(StartFailure) -> CInt {
        let file = try CommandSearch.file(of: command[0], path: environment["PATH"])
        let null = unsafe open("/dev/null", O_RDWR | O_CLOEXEC)
        guard null >= 0 else { throw StartFailure(fork: Errno(rawValue: errno)) }
        defer { _ = close(null) }
        let arguments = CTexts(command)
        let variables = CTexts(environment.map { "\($0.key)=\($0.value)" })
        let paths = CTexts([file, directory ?? ""])
        guard let path = unsafe paths.pointers[0] else { throw StartFailure(fork: .noMemory) }
        let streams = [null, null, null]
        var outcome: CInt = -1
        let result: (pid: CInt, error: CInt) = unsafe streams.withUnsafeBufferPointer { streams in
            guard let numbers = streams.baseAddress else { return (-1, EINVAL) }
            var plan = unsafe HFProgramPlan(
                path: path,
                arguments: arguments.pointers,
                environment: variables.pointers,
                own_number: (nil, nil, nil),
                directory: directory == nil ? nil : paths.pointers[1],
                descriptors: numbers,
                descriptor_count: 3,
                terminal: -1,
                death_signal: SIGKILL
            )
            let pid = unsafe hf_program_start(&plan, &outcome)
            return (pid, errno)
        }
        guard result.pid > 0 else { throw StartFailure(fork: Errno(rawValue: result.error)) }
        // That it did not begin is known by its status, 127.
        _ = close(outcome)
        return result.pid
    }
}
