import Foundation
import TestSupport
import Testing

/// The sockets of `holdfast run` take whatever comes: a program may be broken, and whoever gives orders may be another version.
@Suite(.timeLimit(.minutes(5))) struct HostileMessagesTests {
    @Test(arguments: [1, 2, 3])
    func `Made-up messages change nothing, and leave nothing open`(seed: Int) throws {
        let store = try StoreReader()
        let script = BuiltProduct.file("Tests/ProcessSupervisorTests/Scripts/strangers.py").path
        let supervised = try Supervised(
            ["--name", "strange", "--restart", "always"],
            ["python3", script, "\(seed)", "\(store.path)/run/strange.sock"],
            store: store
        )
        let pid = try supervised.nextPid()
        let status = try supervised.status()
        #expect(status["pid"] as? Int == Int(pid) && status["state"] as? String == "ready")
        #expect(status["restarts"] as? Int == 0)
        // What a program gives away is kept, 128 descriptors of it at most.
        let open = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(supervised.process.pid)/fd")
        #expect(open.count < 128 + 32)
        #expect(try supervised.order("stop").end == .exited(0))
    }
}
