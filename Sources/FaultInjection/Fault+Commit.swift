internal import CFaultInjection

extension Fault {
    /// Commits the fault on the calling thread, in the function that is named after it.
    ///
    /// Returns only when a handler made the thread go on behind the fault.
    @inline(never)
    public func commit() {
        switch self {
        case .nilUnwrap: faultNilUnwrap()
        case .indexOutOfRange: faultIndexOutOfRange()
        case .overflow: faultOverflow()
        case .precondition: faultPrecondition()
        case .fatalError: faultFatalError()
        case .tryBang: faultTryBang()
        case .asBang: faultAsBang()
        case .duplicateKey: faultDuplicateKey()
        case .exclusivity: faultExclusivity()
        case .nullRead: faultNullRead()
        case .nullWrite: faultNullWrite()
        case .wildPointer: faultWildPointer()
        case .nonCanonical: faultNonCanonical()
        case .readOnlyWrite: faultReadOnlyWrite()
        case .nullCall: faultNullCall()
        case .dataJump: faultDataJump()
        case .divideByZero: faultDivideByZero()
        case .ud2: faultUd2()
        case .int3: faultInt3()
        case .abort: faultAbort()
        case .assert: faultAssert()
        case .busPastEof: faultBusPastEof()
        case .stackOverflow: faultStackOverflow()
        case .doubleFree: faultDoubleFree()
        case .heapSmash: faultHeapSmash()
        case .cxxException: faultCxxException()
        case .raiseSegv: faultRaiseSegv()
        }
        // A call after the fault keeps this function's frame below it.
        hf_fault_returned()
    }
}
