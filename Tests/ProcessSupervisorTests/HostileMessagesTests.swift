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
        let status = try supervised.status(once: "ready")
        #expect(status["pid"] as? Int == Int(pid))
        #expect(status["restarts"] as? Int == 0)
        // What a program gives away is kept, 128 descriptors of it at most, beside those that any supervisor has here.
        let other = try Supervised(
            ["--name", "calm"],
            ["/bin/sh", "-c", "echo up $$; exec sleep 1000"],
            store: StoreReader()
        )
        _ = try other.nextPid()
        let calm = try Self.descriptors(of: other)
        let open = try Self.descriptors(of: supervised)
        #expect(open <= 128 + calm + 8, "\(open), \(calm) without")
        #expect(try other.order("stop").end == .exited(0))
        #expect(try supervised.order("stop").end == .exited(0))
    }

    private static func descriptors(of supervised: Supervised) throws -> Int {
        try FileManager.default.contentsOfDirectory(atPath: "/proc/\(supervised.process.pid)/fd").count
    }
}
