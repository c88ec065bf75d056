import ArgumentParser
import GRPCCore
import GRPCNIOTransportHTTP2
import Synchronization

/// What h2load cannot see: a call's status comes behind its answer.
struct Load: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Send calls, and count how they end.",
        discussion:
            "Prints 'calls N, ok N, internal N, other N': calls that trap end as 'internal', with the id of a report."
    )

    @Option(help: "The server's port on 127.0.0.1.") var port: Int
    @Option(help: "How many calls to send.") var calls = 10_000
    @Option(help: "How many of a thousand trap.") var perMille = 10
    @Option(help: "How many are under way at a time.") var concurrency = 32

    private static let kinds = [
        "nil-unwrap", "index-out-of-range", "overflow", "precondition", "fatal-error", "try-bang", "duplicate-key",
        "null-read", "null-write", "divide-by-zero",
    ]

    private struct Counts {
        var ok = 0, failed = 0, other = 0, trapped = 0
    }

    private final class Tally: Sendable {
        let counts = Mutex(Counts())
        let next = Atomic<Int>(0)
    }

    func run() async throws {
        let transport = try HTTP2ClientTransport.Posix(
            target: .ipv4(address: "127.0.0.1", port: port),
            transportSecurity: .plaintext
        )
        let (calls, perMille, concurrency) = (calls, perMille, concurrency)
        let tally = Tally()
        try await withGRPCClient(transport: transport) { client in
            await withDiscardingTaskGroup { group in
                for _ in 0..<concurrency {
                    group.addTask {
                        while true {
                            let number = tally.next.add(1, ordering: .relaxed).newValue
                            guard number <= calls else { return }
                            let traps = number % 1000 < perMille
                            let places: [FaultService.Method] = [.fault, .await, .child, .let, .stream]
                            let method = traps ? places[number % places.count] : .ok
                            let kind = Self.kinds[number / 1000 % Self.kinds.count]
                            let status = await Self.call(client, method, kind)
                            tally.counts.withLock { counts in
                                if traps { counts.trapped += 1 }
                                switch status {
                                case nil where !traps: counts.ok += 1
                                case .internalError where traps: counts.failed += 1
                                default: counts.other += 1
                                }
                            }
                        }
                    }
                }
            }
        }
        let end = tally.counts.withLock { $0 }
        print("calls \(calls), trapped \(end.trapped), ok \(end.ok), internal \(end.failed), other \(end.other)")
        if end.other > 0 || end.failed != end.trapped { throw ExitCode.failure }
    }

    /// The code of the error that a call ended with; nil for none.
    private static func call(
        _ client: GRPCClient<HTTP2ClientTransport.Posix>,
        _ method: FaultService.Method,
        _ text: String
    ) async -> RPCError.Code? {
        do {
            try await client.serverStreaming(
                request: ClientRequest(message: text),
                descriptor: method.descriptor,
                serializer: Text(),
                deserializer: Text(),
                options: .defaults
            ) { response in
                for try await _ in response.messages {}
            }
            return nil
        } catch let error as RPCError {
            // Of a call that trapped the report's id is the point.
            let hasReport = error.metadata[stringValues: "x-crash-report"].contains { $0.count == 32 }
            return error.code == .internalError && !hasReport ? .unknown : error.code
        } catch {
            return .unknown
        }
    }
}
