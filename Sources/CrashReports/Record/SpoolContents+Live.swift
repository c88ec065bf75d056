extension SpoolContents {
    /// What the process is doing and has told of itself, of which no handler kept a copy: for a stall.
    ///
    /// - Parameters:
    ///   - record: Says which thread, and up to when.
    ///   - bytes: The spool file of this process.
    /// - Returns: Nil if there is nothing to tell.
    public func liveContext(of record: FaultRecord, in bytes: [UInt8]) -> FaultContext? {
        ContextSection(RecordBytes(bytes[...]))?.liveContext(of: record, startedAt: process.startMonotonicNanoseconds)
    }
}
