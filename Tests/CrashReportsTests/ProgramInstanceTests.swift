import Testing

@testable import CrashReports

/// Which processes count each other's ends.
@Suite struct ProgramInstanceTests {
    private func instance(
        _ executable: String = "/usr/bin/agent",
        _ arguments: [String] = ["agent", "--port", "1"],
        host: String = "one",
        group: String? = nil
    ) -> ProgramInstance {
        ProgramInstance(executable: executable, arguments: arguments, host: host, controlGroup: group)
    }

    @Test func `What differs in executable, arguments or machine is another instance`() {
        #expect(instance().mayBe(instance()))
        #expect(!instance().mayBe(instance("/usr/bin/other")))
        #expect(!instance().mayBe(instance("/usr/bin/agent", ["agent", "--port", "2"])))
        #expect(!instance().mayBe(instance(host: "two")))
    }

    @Test func `Services that are known of both tell two apart, other control groups do not`() {
        let first = instance(group: "/system.slice/agent@1.service")
        #expect(first.mayBe(instance(group: "/system.slice/system-agent.slice/agent@1.service")))
        #expect(!first.mayBe(instance(group: "/system.slice/agent@2.service")))
        #expect(first.mayBe(instance()))
        #expect(instance(group: "/user.slice/session-1.scope").mayBe(instance(group: "/user.slice/session-2.scope")))
        #expect(first.mayBe(instance(group: "/user.slice/session-2.scope")))
    }
}
