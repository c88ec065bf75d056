import LinuxSystem

/// A message with a reply port, while the handler of a message port has it.
///
/// If the handler faults and is abandoned, whoever waits for the answer is told: nothing in the callout is released, so the
/// reply port would stay open for ever. Used again and again, so that a message costs no allocation. Life cycle: spare ->
/// begun with a message, and registered with the callout -> ended, and spare again; or abandoned, and never used again. Touched
/// by one thread at a time.
final class MessageDelivery: @unchecked Sendable {
    /// What the attachment refers to: it may outlive the delivery.
    private final class Reply {
        var right: HostRunLoop.SendRight?
        let inbox: MessageInbox

        init(_ inbox: MessageInbox) {
            self.inbox = inbox
        }

        /// Closes the reply port, also for whom the handler handed it to.
        func close() {
            defer { right = nil }
            switch right?.destination {
            case .local(let right): right.endWithoutAnswer()
            case .socket(let channel): channel.disconnect(inbox.openDescriptors?.event.rawValue)
            case nil: break
            }
        }
    }

    private let reply: Reply
    private let attachment: CalloutAttachment

    /// Makes one for messages out of an inbox.
    init(from inbox: MessageInbox) {
        let reply = Reply(inbox)
        self.reply = reply
        attachment = CalloutAttachment { reply.close() }
    }

    /// Registers a message's reply port with the running callout.
    func begin(_ right: HostRunLoop.SendRight) {
        reply.right = right
        attachment.attach()
    }

    /// Takes it back: the handler has returned.
    func end() {
        attachment.detach()
        reply.right = nil
    }
}
