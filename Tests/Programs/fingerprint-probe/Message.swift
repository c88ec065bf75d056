// These are bugs on purpose.
// swift-format-ignore-file: NeverForceUnwrap

/// What comes in by mail: without headers, hops and body.
struct Message {
    private var headers: [String: String]
    var hops: [Int]
    var body: [UInt8]

    init(_ count: Int) {
        headers = [:]
        hops = Array(repeating: 1, count: count)
        body = Array(repeating: 1, count: count)
    }

    @inline(never)
    func header(_ name: String) -> String? { headers[name] }

    #if SHIFTED
    @inline(never)
    func isEmpty() -> Bool { headers.filter { $0.key.isEmpty }.isEmpty && body.allSatisfy { $0 == 0 } }
    #endif

    @inline(never)
    func sender() -> Int {
        header("From")!.count + opaque(1)
    }

    @inline(never)
    private func hop(at index: Int) -> Int {
        precondition(index >= 0 && index < hops.count, "there is no hop \(index)")
        return hops[index] + opaque(1)
    }

    @inline(never)
    func firstRecipient() -> Int {
        hop(at: opaque(0)) + opaque(1)
    }

    @inline(never)
    func lastHop() -> Int {
        hop(at: hops.count - opaque(1)) + opaque(2)
    }

    @inline(never)
    func longestHop() -> Int {
        #if SHIFTED
        let doubled = hops.map { $0 * 2 }.count
        #else
        let doubled = 0
        #endif
        let numbers = [opaque(1), opaque(2)].map { $0 + hops[opaque($0)] }
        return numbers.count + doubled
    }

    var priority: Int {
        @inline(never) get { Int(header("Priority")!) ?? opaque(0) }
    }

    @inline(never)
    func checksum() -> Int {
        #if SHIFTED
        func newer(_ index: Int) -> Int { index + opaque(2) }
        consume([1].map(newer).count)
        #endif
        @inline(never)
        func word(_ index: Int) -> Int { Int(body[index]) + opaque(1) }
        return word(opaque(0)) + word(opaque(1))
    }

    @inline(__always)
    private func date() -> Int { Int(header("Date")!) ?? 0 }

    @inline(never)
    func age() -> Int { opaque(10) - date() }
}

struct Envelope {
    let size: Int

    @inline(never)
    init(_ message: Message) {
        size = message.hops[opaque(0)] + opaque(1)
    }
}

struct Rank: Comparable {
    let message: Message

    init(_ message: Message) { self.message = message }

    @inline(never)
    static func < (left: Rank, right: Rank) -> Bool {
        left.message.header("Rank")!.count < right.message.hops.count
    }

    static func == (left: Rank, right: Rank) -> Bool { left.message.hops == right.message.hops }
}
