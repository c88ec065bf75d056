/// One of several processes of a program that run side by side, as far as what they leave behind can tell them apart.
public struct ProgramInstance: Sendable, Hashable {
    /// The path of the executable.
    public var executable: String
    /// The arguments, as far as they may be told.
    public var arguments: [String]
    /// The name of the machine, which a container has of its own.
    public var host: String
    /// The systemd service that it is; nil if it is none, or that is not known.
    public var service: String?

    /// Describes an instance.
    ///
    /// - Parameters:
    ///   - executable: The path of the executable.
    ///   - arguments: The arguments, as far as they may be told.
    ///   - host: The name of the machine.
    ///   - controlGroup: The control group; nil if it is not known.
    public init(executable: String, arguments: [String], host: String, controlGroup: String?) {
        self.executable = executable
        self.arguments = arguments
        self.host = host
        // Other groups change from one start to the next: sessions, scopes, containers.
        service = controlGroup?.split(separator: "/").last { $0.hasSuffix(".service") }.map(String.init)
    }

    /// Whether two processes may be one instance before and after a restart: what is known of both does not differ.
    public func mayBe(_ other: ProgramInstance) -> Bool {
        guard executable == other.executable, arguments == other.arguments, host == other.host else { return false }
        guard let service, let theirs = other.service else { return true }
        return service == theirs
    }
}
