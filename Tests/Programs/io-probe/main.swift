// A server for HoldfastIOTests: `io-probe MODE ENDPOINT`.

import FaultInjection
import Glibc
import HoldfastIO

let host = try EventHost(.keepServing)
let mode = CommandLine.arguments[1]
let place = CommandLine.arguments[2]
let endpoint: Endpoint =
    place.hasPrefix("/")
    ? .unix(place)
    : place.hasPrefix("@")
        ? .abstract(String(place.dropFirst()))
        : .tcp(host: place, port: 0)

/// A child that says again what it hears, in the mode "child".
var child: ChildProcess?

@MainActor func startChild() throws {
    var command = ChildProcess.Command("cat")
    command.input = .pipe
    command.output = .pipe
    let found = try ChildProcess(command, keptBy: host, as: "cat")
    child = found
    if found.isTakenOver { print("found again: \(found.pid)") }
    found.output?.onLine { _, line in
        if let fault = Fault(rawValue: line) { fault.commit() }
        print("\(line) \(found.pid)")
        fflush(nil)
    }
    found.onExit { _, status in
        print("ended: \(status)")
        fflush(nil)
        host.stop()
    }
}

@MainActor func answer(_ connection: Connection, _ line: String) {
    let words = line.split(separator: " ", maxSplits: 1)
    switch words.first ?? "" {
    case "fault": Fault(rawValue: String(words[1]))?.commit()
    case "restart": host.restart()
    case "child": child?.input?.send("\(words[1])\n")
    case "set": connection.state = Array(words[1].utf8)
    case "get": connection.send("\(String(decoding: connection.state, as: UTF8.self)) \(connection.isTakenOver)\n")
    case "big": connection.send(String(repeating: "x", count: Int(words[1]) ?? 0) + "\n")
    case "over": connection.endSending()
    case "bye":
        connection.send("bye\n")
        connection.closeWhenSent()
    case "peer": connection.send("\(connection.peer.map(String.init(describing:)) ?? "nobody")\n")
    default: connection.send(line + "\n")
    }
}

@MainActor func begin(_ connection: Connection) {
    connection.onClose { connection, ending in
        print("closed \(connection.label): \(ending)")
        fflush(nil)
    }
    switch mode {
    case "keep": connection.onAbandon = .keep
    case "strict": connection.recoveryPolicy = .never
    case "end":
        connection.onEnd { connection in
            connection.send("end\n")
            connection.closeWhenSent()
        }
    case "room":
        connection.onRoom { connection in
            print("room \(connection.unsentCount)")
            fflush(nil)
        }
    case "bytes": return connection.onBytes { connection, bytes in connection.send(bytes) }
    default: break
    }
    connection.onLine(answer)
}

/// What serves in the mode "tasks", until it is cancelled.
var tasks: [Task<Void, Never>] = []

@MainActor func serveByTasks() {
    for connection in listener.openConnections { serveByTask(connection) }
    let task = Task {
        for await connection in listener.connections { serveByTask(connection) }
        print("no more connections")
        fflush(nil)
    }
    tasks.append(task)
}

@MainActor func serveByTask(_ connection: Connection) {
    let task = Task {
        do {
            for try await line in connection.lines { answer(connection, line) }
            print("end of \(connection.label)")
        } catch {
            print("\(connection.label) threw \(error)")
        }
        fflush(nil)
    }
    tasks.append(task)
}

let listener: Listener
if mode == "plain" {
    listener = try Listener(endpoint)
} else {
    listener = try Listener(endpoint, name: "probe", keptBy: host)
}
if mode == "child" { try startChild() }
if mode == "idle" { listener.limits.idle = .milliseconds(200) }
if mode == "unsent" { listener.limits.unsent = 1 << 20 }
if mode == "tasks" {
    serveByTasks()
    try host.onSignal(SIGUSR1) { _ in
        for task in tasks { task.cancel() }
        tasks = []
    }
    try host.onSignal(SIGUSR2) { _ in serveByTasks() }
} else {
    listener.onConnection(begin)
}
try host.onSignal(SIGTERM) { _ in
    if mode == "close" { listener.close() }
    host.stop()
}
print("listening \(listener.endpoint)")
fflush(nil)
host.run()
host.close()
