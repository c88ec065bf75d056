import CrashReports

/// The names of signals.
enum SignalText {
    static func name(_ signal: CInt) -> String { CrashReport.Fault.NumberedName.signal(Int(signal)).name }
}
