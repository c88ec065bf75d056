/// Goes on to the bug.
@inline(never)
func commit(_ bug: Bug, _ depth: Int) {
    let message = Message(opaque(0))
    switch bug {
    case .missingHeader: consume(message.sender())
    case .firstRecipient: consume(message.firstRecipient())
    case .lastHop: consume(message.lastHop())
    case .decodeNumber: consume(decode(message.body, as: Int.self))
    case .decodeText: consume(decode(message.body, as: String.self).count)
    case .parseIndex, .parseOverflow, .parseNil, .parseOtherNil: consume(parse(message, bug))
    case .noRoute, .noSocket: deliver(message, bug, depth)
    case .memoryStore: load(MemoryStore(), message)
    case .fileStore: load(FileStore(), message)
    case .expired, .revoked: authenticate(bug == .expired ? opaque(1) : opaque(2))
    case .ownClosure: consume(message.longestHop())
    case .leaf: consume(Node(depth: depth).sum())
    case .endless: consume(depth > 5 ? ping(opaque(1)) : pong(opaque(1)))
    case .endlessOther: consume(echo(opaque(1)))
    case .danglingPointer: consume(follow(depth))
    case .copyFromNull: consume(copy(depth))
    case .getter: consume(message.priority)
    case .initializer: consume(Envelope(message).size)
    case .comparison: consume(Rank(message) < Rank(message) ? 1 : 0)
    case .localFunction: consume(message.checksum())
    case .deinitializer: release()
    case .inlined: consume(message.age())
    case .cast: consume(settings(depth))
    case .range: consume(window(opaque(5), opaque(2)))
    // In the mill itself.
    case .firstHandler, .secondHandler: break
    }
    consume(4)
}
