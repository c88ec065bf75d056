import CFaultInjection
import CFrameProbe
import CrashCapture
import FaultInjection
import Glibc

/// A program that faults with known frames on its stack: `frame-probe CASE STORE [--debugger]`, or lists its shapes: `--list`.
///
/// A case is a `Cause`, a `Shape` or an `AwaitShape`. The record of the fault stays in the spool of the store. With `--debugger` it runs on
/// a breakpoint as soon as its stack has been walked, on the thread that walked it, so that a debugger can walk it, too.
@main
enum FrameProbe {
    static func main() {
        let arguments = CommandLine.arguments
        if arguments.dropFirst().first == "--list" {
            for shape in Shape.allCases { print(shape.rawValue) }
            exit(EXIT_SUCCESS)
        }
        guard arguments.count >= 3, let fault = body(of: arguments[1]) else { exit(EX_USAGE) }
        let hasDebugger = arguments.dropFirst(3).contains("--debugger")
        let configuration = CrashCapture.Configuration(
            spoolFolder: arguments[2] + "/spool",
            deadline: .seconds(60),
            verdictAtDeadline: .terminate,
            version: "test"
        )
        mkdir(arguments[2], 0o700)
        let capture: CrashCapture
        do {
            capture = try CrashCapture(
                configuration,
                inspection: .trustingAll,
                decide: { fault in
                    if hasDebugger { hf_frame_stop(Int(fault.thread)) }
                    return Decision(.terminate, because: "the probe has nothing else to do")
                },
                decided: { _, _ in },
                recorded: { _ in }
            )
        } catch {
            print(error)
            exit(EXIT_FAILURE)
        }
        CrashCapture.awaitCrashThread()
        fault()
        // It returned, which none does.
        capture.uninstall()
        exit(EXIT_FAILURE)
    }

    private static func body(of name: String) -> (() -> Void)? {
        if let shape = Shape(rawValue: name) { return { commit(shape) } }
        if let shape = AwaitShape(rawValue: name) { return { shape.commit() } }
        guard let cause = Cause(name: name) else { return nil }
        switch cause {
        // Small, so that a debugger is through soon.
        case .fault(.stackOverflow), .hazard(.allocatingOverflow), .hazard(.genericMetadata):
            return { onSmallStack { cause.commit() } }
        case .hazard(.conditionLock):
            // What is looked at are the frames; this program has no Foundation.
            Hazard.lockingCondition = { $0() }
            return { cause.commit() }
        default: return { cause.commit() }
        }
    }
}

/// Runs a closure on a thread with a stack of 128 KiB.
func onSmallStack(_ body: @escaping () -> Void) {
    withCallback(body) { hf_frame_on_thread(128 << 10, $0, $1) }
}

/// Hands a closure to C, as a function and its context.
func withCallback(_ body: @escaping () -> Void, _ call: (HFFrameBody, UnsafeMutableRawPointer) -> Void) {
    let box = Unmanaged.passRetained(Box(body))
    call(
        { context in
            guard let context else { return }
            Unmanaged<Box>.fromOpaque(context).takeUnretainedValue().body()
            hf_fault_returned()
        },
        box.toOpaque()
    )
    box.release()
}

private final class Box {
    let body: () -> Void

    init(_ body: @escaping () -> Void) {
        self.body = body
    }
}
