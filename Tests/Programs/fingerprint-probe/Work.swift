// These are bugs on purpose.
// swift-format-ignore-file: NeverForceUnwrap

import Glibc

/// A number that the optimiser knows nothing of.
@inline(never)
@_optimize(none)
func opaque(_ value: Int) -> Int { value }

/// Keeps a value from being computed in vain.
@inline(never)
@_optimize(none)
func consume(_ value: Int) {}

#if SHIFTED
@inline(never)
func addedBefore(_ values: [Int]) -> Int { values.map { $0 * 2 }.filter { $0 > 1 }.count }

#endif
@inline(never)
func decode<Value>(_ bytes: [UInt8], as type: Value.Type) -> Value {
    let found: Any? = bytes.isEmpty ? nil : bytes
    consume(bytes.count)
    return (found as? Value)!
}

@inline(never)
func parse(_ message: Message, _ bug: Bug) -> Int {
    var total = opaque(0)
    #if SHIFTED
    total += addedBefore([opaque(1)])
    #endif
    if bug == .parseIndex { total += message.hops[opaque(3)] }
    if bug == .parseOverflow { total += opaque(.max) - opaque(-1) }
    if bug == .parseNil { total += message.header("Length")!.count }
    total += opaque(1)
    if bug == .parseOtherNil { total += message.header("Encoding")!.count }
    return total
}

@inline(never)
func deliver(_ message: Message, _ bug: Bug, _ depth: Int) {
    if bug == .noRoute { fatalError("no route to host \(depth) for \"user\(depth)@example.org\"") }
    if bug == .noSocket { fatalError("no socket is left") }
    consume(message.hops.count)
}

protocol Store {
    func load(_ message: Message) -> Int
}

struct MemoryStore: Store {
    @inline(never)
    func load(_ message: Message) -> Int { message.header("Key")!.count + opaque(1) }
}

struct FileStore: Store {
    @inline(never)
    func load(_ message: Message) -> Int { message.header("Path")!.count + opaque(2) }
}

@inline(never)
func load(_ store: some Store, _ message: Message) {
    consume(store.load(message))
}

struct Expired: Error { let seconds: Int }
struct Revoked: Error { let by: String }

@inline(never)
private func check(_ what: Int) throws {
    if what == 1 { throw Expired(seconds: opaque(17)) }
    if what == 2 { throw Revoked(by: "admin") }
}

@inline(never)
func authenticate(_ what: Int) {
    try! check(what)
    consume(what)
}

/// A list, as a recursion sees it.
final class Node {
    let next: Node?
    let values: [Int]

    init(depth: Int) {
        next = depth > 0 ? Node(depth: depth - 1) : nil
        values = depth > 0 ? [depth] : []
    }

    @inline(never)
    func sum() -> Int {
        let rest = next.map { $0.sum() } ?? opaque(0)
        return values[opaque(0)] + rest
    }
}

@inline(never)
func ping(_ value: Int) -> Int { pong(value + opaque(1)) + opaque(1) }

@inline(never)
func pong(_ value: Int) -> Int { ping(value + opaque(1)) + opaque(2) }

@inline(never)
func echo(_ value: Int) -> Int { [value].reduce(0) { $0 + echo($1 + opaque(1)) } + opaque(3) }

@inline(never)
func follow(_ depth: Int) -> Int {
    // One leads to no address at all, the others to memory that is not mapped.
    let address = depth > 5 ? UInt(0x8123_4567_89ab_cdef) : UInt(0x1234_5678_9ab8 + depth * 4096)
    let pointer = UnsafePointer<Int>(bitPattern: address)
    return pointer.map { $0[opaque(0)] } ?? 0
}

@inline(never)
func copy(_ depth: Int) -> Int {
    var buffer = [UInt8](repeating: 0, count: 4096)
    let source = UnsafeRawPointer(bitPattern: opaque(64))
    buffer.withUnsafeMutableBytes { bytes in
        _ = source.map { memcpy(bytes.baseAddress!, $0, opaque(64 * (depth + 1))) }
    }
    return Int(buffer[opaque(1)])
}

private final class Connection {
    let message = Message(opaque(0))

    deinit { consume(message.hops[opaque(1)]) }
}

@inline(never)
func release() {
    let connection = Connection()
    consume(connection.message.body.count)
}

@inline(never)
func settings(_ depth: Int) -> Int {
    let values: [Any] = [opaque(depth), "one"]
    let text = values[opaque(0)] as! String
    return text.utf8.count
}

@inline(never)
func window(_ start: Int, _ end: Int) -> Int { (start..<end).count + opaque(1) }

/// Runs a function on a thread of its own.
func detach(_ body: @escaping @Sendable () -> Void) {
    final class Box: Sendable {
        let body: @Sendable () -> Void
        init(_ body: @escaping @Sendable () -> Void) { self.body = body }
    }
    var thread = pthread_t()
    let box = Unmanaged.passRetained(Box(body)).toOpaque()
    pthread_create(
        &thread,
        nil,
        { box in
            if let box { Unmanaged<Box>.fromOpaque(box).takeRetainedValue().body() }
            return nil
        },
        box
    )
}
