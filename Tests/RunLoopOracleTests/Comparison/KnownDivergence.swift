/// Where HostRunLoop differs from CFRunLoop on purpose, or where CFRunLoop promises nothing.
///
/// The item numbers are those of the table in RunLoop.md, "What differs from CFRunLoop". A divergence that can change what follows
/// ends a watched play. The adapters make the others equal.
enum KnownDivergence: Hashable, Sendable {
    /// Items 4 and 9: a block for the common modes makes a mode of that name in CFRunLoop only.
    ///
    /// The CFRunLoop adapter leaves it out of the set of modes.
    case literalCommonMode
    /// Items 10 and 13: what is done in all common modes, or for all common items, is done in the order of a hash table.
    ///
    /// The player sorts the `schedule` and `cancel` callouts of one action. It cuts where `addCommonMode` adds two observers
    /// of the same order.
    case hashTableOrder
    /// Item 28: things that are ready at the same time are served in the order of the kernel by CFRunLoop, in turns by
    /// HostRunLoop.
    case simultaneousEvents
    /// Items 27 and 48: CFRunLoop has taken the event from the kernel when it calls the `afterWaiting` observers, so that a
    /// run inside one of them does not see it; HostRunLoop leaves it there.
    case eventTakenEarly
    /// Item 48: CFRunLoop reads eight bytes from a port before its callout, and drops them if the port is gone by then.
    ///
    /// The HostRunLoop adapter reads in its callout. The player cuts where an `afterWaiting` observer removes or writes a
    /// ready port.
    case portIsReadByLoop
    /// Item 60: a timer that left without firing still ends a wait of CFRunLoop.
    case ghostWakeUp
    /// Item 54: a repeating timer whose date is set in its own callout is armed again only in the mode that runs, so that
    /// CFRunLoop never fires it in its other modes (CFRunLoop.c:2565); HostRunLoop does.
    case movedTimerInOtherModes
    /// The timer half of CFRunLoop's `contains` for the common modes says no while the timer is in no mode (CFRunLoop.c:3913).
    ///
    /// The CFRunLoop adapter is not asked whether a timer is among the common items.
    case commonTimerInNoMode
    /// An item that is invalidated when it has left its last mode stays among the common items of CFRunLoop for ever, because
    /// it does not know its loop any more (CFRunLoop.c:4190); HostRunLoop lets it go.
    ///
    /// Neither adapter is asked whether an invalid item is among the common items.
    case invalidCommonItem
}
