internal import CLinuxShims
internal import Glibc
internal import LinuxSystem
internal import RunLoops
internal import SystemPackage

extension ChildProcess.Command {
    /// Starts the child with these as its descriptors 0, 1 and 2, -1 for /dev/null, and returns its number.
    func start(streams: [CInt]) throws(IOError) -> CInt {
        let arguments = CTexts([program] + arguments)
        let variables = CTexts((environment ?? [:]).map { "\($0.key)=\($0.value)" })
        let names = CTexts([program, directory ?? ""])
        guard let path = unsafe names.pointers[0] else { throw IOError("start \(program)", .invalidArgument) }
        var plan = unsafe HFChildPlan(
            path: path,
            arguments: arguments.pointers,
            environment: environment == nil ? nil : variables.pointers,
            directory: directory == nil ? nil : names.pointers[1],
            streams: (streams[0], streams[1], streams[2]),
            leads_group: leadsGroup
        )
        let pid = unsafe hf_child_start(&plan)
        guard pid > 0 else { throw IOError("start \(program)", Errno(rawValue: errno)) }
        return pid
    }
}

/// The standard descriptors of a child, and the other ends of its pipes.
struct ChildPipes: ~Copyable {
    /// What the child gets; -1 for /dev/null.
    private(set) var ofChild: [CInt] = []
    /// Those of them that are closed here when it was started.
    private var childsEnds: [CInt] = []
    /// Ours, until they are a connection's.
    private var ours: [CInt] = [-1, -1, -1]

    init(for command: ChildProcess.Command) throws(IOError) {
        for (number, stream) in [command.input, command.output, command.errors].enumerated() {
            switch stream {
            case .inherit: ofChild.append(CInt(number))
            case .null: ofChild.append(-1)
            case .descriptor(let descriptor): ofChild.append(descriptor.rawValue)
            case .pipe:
                var ends: [CInt] = [-1, -1]
                guard unsafe hf_pipe(&ends) == 0 else {
                    throw IOError("make a pipe for \(command.program)", Errno(rawValue: errno))
                }
                let childs = number == 0 ? 0 : 1
                ofChild.append(ends[childs])
                childsEnds.append(ends[childs])
                ours[number] = ends[1 - childs]
            }
        }
    }

    deinit {
        for descriptor in childsEnds + ours where descriptor >= 0 { _ = close(descriptor) }
    }

    /// The connection to one of its descriptors; `nil` where there is no pipe.
    mutating func takeConnection(
        _ number: Int,
        _ label: String,
        _ loop: HostRunLoop
    ) throws(IOError) -> Connection? {
        guard ours[number] >= 0 else { return nil }
        let connection = try Connection(FileDescriptor(rawValue: ours[number]), label: label, on: loop)
        ours[number] = -1
        // A line that faults costs itself: without its pipe the child would end by SIGPIPE.
        connection.onAbandon = .keep
        return connection
    }
}
