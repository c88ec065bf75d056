import Foundation
import TestSupport
import Testing

/// What a supervisor passes on to the service manager above it.
@Suite(.timeLimit(.minutes(5))) struct BelowManagerTests {
    @Test func `What programs give away outlives the supervisor, in the store of the manager above it`() throws {
        let store = try StoreReader()
        let script = BuiltProduct.file("Tests/ProcessSupervisorTests/Scripts/manager.py").path
        let run = try ProgramRun.run(
            "/usr/bin/env",
            ["python3", script, try BuiltProduct.path(of: "holdfast"), store.path, "--restart", "on-failure"]
        )
        #expect(
            run.output.split(separator: "\n") == [
                "stores python3/memory 1", "stores python3//more 0", "memory:more state other",
                "EXTEND_TIMEOUT_USEC 7000000 ", "FDSTOREREMOVE 1 python3/memory", "FDSTOREREMOVE 1 python3//memory",
                "end 0",
            ],
            "\(run.errors)"
        )
        #expect(run.end == .exited(0))
    }

    @Test func `The manager is told which process supervises, also if a wrapper has started it`() throws {
        let store = try StoreReader()
        let wrapper = """
            import os, socket, subprocess, sys
            ours = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
            ours.bind("\\0holdfast-test-wrapper-%d" % os.getpid())
            environment = dict(os.environ, NOTIFY_SOCKET="@holdfast-test-wrapper-%d" % os.getpid())
            child = subprocess.Popen([*sys.argv[1:], "--", "/bin/sleep", "1000"], env=environment)
            ready = ""
            while not ready.startswith("READY=1\\n"): ready = ours.recv(4096).decode()
            print(ready.split("\\n")[1] == "MAINPID=%d" % child.pid)
            child.terminate()
            print(child.wait())
            """
        let run = try ProgramRun.run(
            "/usr/bin/env",
            ["python3", "-c", wrapper, try BuiltProduct.path(of: "holdfast"), "run", "--store", store.path]
        )
        #expect(run.output == "True\n143\n", "\(run.output) \(run.errors)")
    }
}
