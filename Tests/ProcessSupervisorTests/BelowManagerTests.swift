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
}
