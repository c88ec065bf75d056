extension CrashReport.LoopState {
    /// Makes it of what a loop's thread keeps of its callout (`HFCalloutInfo`); nil outside of callouts.
    ///
    /// - Parameters:
    ///   - calloutKind: `HFCalloutKind`.
    ///   - activity: A bit of CFRunLoopActivity.
    ///   - mode: The mode of the innermost run.
    ///   - label: The item's label.
    ///   - item: The item's identity.
    ///   - nesting: How many runs were active.
    ///   - pass: The pass, counted from 1.
    public init?(
        calloutKind: UInt32,
        activity: UInt32,
        mode: String,
        label: String,
        item: UInt64,
        nesting: Int,
        pass: UInt64
    ) {
        let kind: Callout.Kind
        switch calloutKind {
        case 1: kind = .source
        case 2: kind = .port
        case 3: kind = .timer
        case 4: kind = .observer
        case 5: kind = .block
        case 6: kind = .mainQueue
        default: return nil
        }
        let name =
            switch activity {
            case 1 << 0: "entry"
            case 1 << 1: "beforeTimers"
            case 1 << 2: "beforeSources"
            case 1 << 5: "beforeWaiting"
            case 1 << 6: "afterWaiting"
            case 1 << 7: "exit"
            default: "unknown"
            }
        self.init(
            mode: mode,
            activity: name,
            callout: Callout(kind: kind, label: label, item: Int(clamping: item)),
            nesting: nesting,
            pass: Int(clamping: pass)
        )
    }
}
