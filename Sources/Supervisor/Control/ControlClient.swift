internal import Glibc
internal import LinuxSystem
package import SystemPackage

/// Asks a supervisor that runs.
package struct ControlClient {
    private let path: FilePath

    /// Nobody who could be asked, and what to do.
    package struct Failure: Error, CustomStringConvertible {
        package let description: String
        /// Whether the supervisor has said so.
        package var isRefusal = false
    }

    /// Finds the supervisor.
    ///
    /// - Parameters:
    ///   - control: Its socket; nil to look for it in a store.
    ///   - store: The store.
    ///   - program: The program that it is about, if one is named.
    /// - Throws: `Failure`.
    package init(control: FilePath?, store: FilePath?, program: String?) throws(Failure) {
        if let control {
            path = control
            return
        }
        guard let store else {
            throw Failure(description: "no store is known: --store DIR or --control PATH says where the supervisor is")
        }
        let state = StateFolder(store: store)
        if let program {
            let own = state.socket(of: program)
            if unsafe access(own.string, F_OK) == 0, Self.isServed(own) {
                path = own
                return
            }
        }
        guard let found = state.sockets() else {
            throw Failure(description: "\(store)/run cannot be read: only the user of the supervisor and root may ask")
        }
        let sockets = found.filter(Self.isServed)
        guard let first = sockets.first else {
            throw Failure(
                description:
                    "no supervisor uses the store \(store): 'holdfast run --store \(store) -- PROGRAM' starts one"
            )
        }
        guard sockets.count == 1 else {
            let names = sockets.compactMap { $0.lastComponent?.stem }.joined(separator: ", ")
            throw Failure(description: "several supervisors use the store; name the program of one: \(names)")
        }
        path = first
    }

    /// Whether a supervisor listens at a socket: one that was killed leaves its file.
    private static func isServed(_ path: FilePath) -> Bool {
        do {
            _ = try PacketSocket.connect(to: .path(path), before: MonotonicClock.nanoseconds + 1_000_000_000)
            return true
        } catch {
            return error != .connectionRefused
        }
    }

    /// Sends a request and waits for the answer.
    ///
    /// - Parameter request: The request.
    /// - Returns: The answer.
    /// - Throws: `Failure`, also if the supervisor says that it cannot be done.
    package func ask(_ request: ControlRequest) throws(Failure) -> String {
        do {
            let deadline = MonotonicClock.nanoseconds + 5_000_000_000
            let connection = try PacketSocket.connect(to: .path(path), before: deadline)
            try PacketSocket.send(Array(request.text.utf8), [], descriptors: [], to: connection.rawValue)
            var bytes = [UInt8](repeating: 0, count: 1 << 18)
            // A restart takes as long as the program: until then there is nothing to read. What the supervisor itself knows comes at once.
            let isKnown = [.status, .describe, .probe].contains(request.order)
            Readiness.wait(forAny: [connection.rawValue], atMost: isKnown ? 5_000_000_000 : nil)
            if isKnown, Readiness.now(of: connection.rawValue, for: .readable).isEmpty {
                throw Failure(description: "\(path): the supervisor does not answer; is it stopped?")
            }
            let (count, extras) = try unsafe bytes.withUnsafeMutableBytes { buffer throws(Errno) in
                unsafe try PacketSocket.receive(into: buffer, from: connection.rawValue)
            }
            for descriptor in extras.descriptors { _ = close(descriptor) }
            guard count > 0 else { throw Failure(description: "the supervisor has ended meanwhile") }
            let parts = bytes[..<count].split(separator: 10, maxSplits: 1, omittingEmptySubsequences: false)
            let text = String(decoding: parts.count > 1 ? parts[1] : [], as: UTF8.self)
            guard parts[0].elementsEqual("ok".utf8) else { throw Failure(description: text, isRefusal: true) }
            return text
        } catch let failure as Failure {
            throw failure
        } catch {
            let reason =
                switch error as? Errno {
                case .connectionRefused?, .noSuchFileOrDirectory?: "nobody listens there; is the supervisor running?"
                case .permissionDenied?: "only its user and root may ask"
                default: "\(error)"
                }
            throw Failure(description: "\(path): \(reason)")
        }
    }
}
