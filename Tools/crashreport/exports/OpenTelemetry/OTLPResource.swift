internal import CrashReports

extension CrashReport {
    /// The process and the machine as a resource of OpenTelemetry.
    var openTelemetryResource: [JSONValue] {
        var resource = OTLPAttributes()
        resource.add("service.name", tag("service.name") ?? process.name)
        resource.add("service.version", tag("release") ?? tag("service.version"))
        resource.add("deployment.environment.name", tag("environment"))
        resource.add("process.pid", process.pid)
        resource.add("process.parent_pid", process.parentPid)
        resource.add("process.executable.name", process.executable.split(separator: "/").last.map(String.init))
        resource.add("process.executable.path", process.executable)
        resource.add("process.executable.build_id.gnu", process.buildID)
        resource.add("process.command", process.arguments.first)
        resource.add("process.command_args", process.arguments)
        resource.add("process.creation.time", process.startTime.description)
        if let swift = runtime.swift {
            resource.add("process.runtime.name", "swift")
            resource.add("process.runtime.version", swift)
        }
        resource.add("host.name", host.name)
        resource.add("host.arch", Self.architectures[host.architecture] ?? host.architecture)
        resource.add("os.type", "linux")
        resource.add("os.description", host.os)
        resource.add("os.version", host.kernel)
        resource.add("container.id", context?.container?.id)
        resource.add("container.runtime.name", context?.container?.runtime)
        return resource.list
    }

    /// The conventions have names of their own for architectures.
    private static let architectures = ["x86_64": "amd64"]
}
