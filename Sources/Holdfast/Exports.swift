// The names that a user of Holdfast needs beside the host: the loop, and the types of policies, faults, signals and stalls. One import
// brings them all.

@_exported public import RunLoops

@_exported public import struct CrashCapture.FaultBudget
@_exported public import struct CrashCapture.FaultSummary
@_exported public import struct CrashCapture.RecoveryPolicy
@_exported public import struct CrashCapture.SignalEvent
@_exported public import struct StallDetection.CalloutDeadline
@_exported public import struct StallDetection.Stall
@_exported public import struct StallDetection.StallPolicy
@_exported public import struct StallDetection.StallRule
@_exported public import struct StallDetection.TickStatistics
