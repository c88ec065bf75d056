/// What to look at next, for every class of fault.
extension FaultPlace {
    func next(after fault: FaultClass) -> [String] {
        if let stall = report.stall { return next(after: stall) }
        if report.kind == .death, let death = report.death {
            if !death.next.isEmpty { return death.next }
            return [
                death.cause == .stopped
                    ? "Nothing speaks of a mistake: it ended as it was told to."
                    : "Look at the last of its standard error, and at the log of what has started it."
            ]
        }
        return switch fault {
        case .nilUnwrap:
            [
                "Open \(line) and find the `!`: which value was missing, and where does it come from?",
                "If it may be missing, the code has to handle that; a missing file, setting or answer is the usual cause.",
            ]
        case .indexOutOfRange:
            [
                "Open \(line): which index was used, and how many elements were there? An empty collection is the usual cause.",
                "Look at the input that was being worked on: is it shorter than usual, or empty?",
            ]
        case .overflow, .conversion:
            [
                "Open \(line) and find the calculation: which of its numbers come from outside (sizes, counts, times)?",
                "Numbers from outside need a check, or an operator that wraps or saturates, before they are calculated with.",
            ]
        case .divisionByZero:
            ["Open \(line) and find the divisor: is it a count, a size or a time that may be zero?"]
        case .invalidRange:
            ["Open \(line): which of the two bounds comes from outside, and may it be the smaller one?"]
        case .duplicateKey:
            ["Open \(line): where do the keys come from? Data that was unique so far is not any more."]
        case .failedCast(let from, _):
            [
                "Open \(line) and find the `as!`: why is the value a \(from)?",
                "Data of another form than the code expects is the usual cause.",
            ]
        case .tryBang:
            [
                "Read the error in the message: it says what went wrong.",
                "Open \(line) and find the `try!`: an error that can happen has to be handled.",
            ]
        case .unownedReference, .escapedDeinit:
            [
                "Open \(line): who owns the object, and why was it gone? A callback that comes late is the usual cause.",
                "A weak reference in place of an unowned one lets the code notice that the object is gone.",
            ]
        case .exclusivity:
            [
                "Open \(line): a call in the middle of a change comes back to the variable that is being changed.",
                "The message has the second place, if the runtime knew it.",
            ]
        case .precondition, .assertion, .check:
            ["Open \(line): the condition says what the caller has to see to. Then look at the caller, the next frame."]
        case .fatalError:
            ["Read the text: whoever wrote the code left it for this case. Then open \(line)."]
        case .uncaughtError:
            [
                "Read the error. Which line threw it is not known: look for who throws one of that kind.",
                "At the start of a program it is usually something that it needs: a file, a port, a setting.",
            ]
        case .wrongExecutor, .wrongQueue:
            [
                "Open \(line): who calls it, and from which thread? A callback that comes on another thread is the usual cause."
            ]
        case .continuationMisuse:
            ["Open \(line): a continuation must be resumed exactly once, on every way through the code."]
        case .trap where !isSwift:
            ["Open \(line): look for __builtin_trap, an unreachable place, or a sanitizer's check."]
        case .trap:
            [
                "Open \(line): it has a `!`, an index, a calculation, a cast or a precondition.",
                "Debug information says which: build with -g, or use `crashreport symbolicate` with this build's debug file.",
            ]
        case .cAssertion: ["Open \(line): the expression says what should have held."]
        case .doubleFree, .heapCorruption:
            [
                "The cause lies before this place: something wrote past its end, or freed memory that is still in use.",
                "Look for unsafe pointers and C libraries in what the process did before; the breadcrumbs may tell.",
                "Run the same work in a build with -sanitize=address: it stops at the cause.",
            ]
        case .stackSmash, .bufferOverflow:
            ["Open \(line) and find the buffer: what was written to it, and how long may it be?"]
        case .cxxException:
            ["Find who throws it: the frames above \(line) show where. Whoever calls that code has to catch it."]
        case .cxxTerminate:
            ["Look at the frames above \(line): an exception inside a destructor or a noexcept function ends here."]
        case .pureVirtual: ["Open \(line): which object is it, and is another thread still destroying it?"]
        case .dispatchMisuse: ["Open \(line), and read the message: libdispatch says what it does not allow."]
        case .outOfMemory:
            [
                "Look at the memory of the process and at its limits in the context of this report: which of them was reached?",
                "Open \(line): is the size that was asked for sensible? A size read from broken input is a usual cause.",
            ]
        case .abort(let text):
            text.isEmpty
                ? ["Open \(line): the code calls abort there. Look at what the process logged just before."]
                : ["Read the text, then open \(line)."]
        case .nullPointer:
            [
                "Open \(line): which pointer was null? A call that failed and whose result nobody looked at is the usual cause."
            ]
        case .nullCall: ["Open \(line): which function pointer or callback was never set, or was already cleared?"]
        case .badJump:
            [
                "Open \(line): which function pointer was it? The object that holds it may be freed or overwritten.",
                "A return address that was overwritten looks the same: then the frames below are not to be believed.",
            ]
        case .stackOverflow:
            RecursionCycle(report.thread.frames).map { cycle in
                [
                    "Look at \(cycle.functions[0]): which input makes it go on for ever?",
                    "Data that contains itself is a usual cause.",
                    "If the depth is right, do the work in a loop, or limit the depth of what is accepted.",
                ]
            } ?? ["Look for large local variables and arrays in \(location), and in its callers."]
        case .badStackPointer:
            ["Look for assembly, setjmp, or code that switches stacks; else something overwrote the stack."]
        case .badObject, .nonCanonical, .badAddress:
            [
                "Open \(line): which pointer was it? It was freed, never set, or overwritten by something else.",
                "Look for unsafe pointers, unowned(unsafe) references and C libraries around it.",
                "Run the same work in a build with -sanitize=address: it stops at the cause.",
            ]
        case .readOnly:
            [
                "Open \(line): does the pointer lead to a constant, to code, or to a file that was mapped for reading only?"
            ]
        case .pastEndOfFile:
            [
                "Find out which file was mapped, and who cut or replaced it while it was in use.",
                "Files that others may cut have to be read, not mapped. A full disk under a mapped file looks the same.",
            ]
        case .misaligned: ["Open \(line): a pointer to bytes was taken for a pointer to larger values."]
        case .hardwareMemory:
            ["Look at the kernel's log (dmesg) for machine check errors, and have the memory replaced."]
        case .illegalInstruction:
            [
                "Is the program built for a newer processor than this one (-march)? Compare with /proc/cpuinfo.",
                "If not, the code was overwritten, or a jump went to the middle of something: look at the caller.",
            ]
        case .privilegedInstruction:
            ["Open \(line): a jump went astray, or assembly asks for what only the kernel may do."]
        case .breakpoint: ["Open \(line): a debugging aid was left in the code, or a library stops there on purpose."]
        case .arithmetic:
            ["Open \(line) and find the calculation: are floating-point exceptions switched on (feenableexcept)?"]
        case .forbiddenSystemCall:
            [
                "Look at the seccomp filter of the service or the container (SystemCallFilter=): the call may be new to it."
            ]
        case .processorTime:
            [
                "Who set the limit: the service (LimitCPU=), a shell (ulimit -t), or the program? It holds for its whole life, restarts included.",
                "If it is meant to catch work without end, the threads show what was going on.",
            ]
        case .fileSize:
            [
                "Which file is it, and who limits it: the service (LimitFSIZE=), a shell (ulimit -f), or the program?",
                "A program that ignores SIGXFSZ is told by an error of write (EFBIG) and can handle it.",
            ]
        case .deadline where library != nil:
            [
                "Open \(line): what does it wait for, and who was to see to it? A loop's callout should not wait: use a port source.",
                "If the wait is right, give the item a longer deadline, or do the work on another thread.",
            ]
        case .deadline:
            [
                "Open \(line): does the work end at all, and on how much data? A loop without progress is a usual cause.",
                "If it takes that long rightly, split it over several callouts, do it on another thread, or give it a longer deadline.",
            ]
        case .sent where endOfHang != nil:
            [
                "Look at the threads below: which of them kept the process from answering, and what does it wait for?",
                "The last of its standard error, and the log of its supervisor, say what came before.",
            ]
        case .sent(let signal) where signal == "SIGABRT" && report.fault?.sender?.pid == 1:
            [
                "systemd sends SIGABRT when a watchdog (WatchdogSec=) runs out: look at its log (journalctl -u).",
                "If it was the watchdog, the threads below show what kept the process from answering.",
            ]
        case .sent:
            ["Find out who that is, and why: a watchdog, a test, or an operator. The threads show what was going on."]
        case .raised: ["Open \(line): the code calls raise or kill itself."]
        default: ["Look up \(signalName) in signal(7), and open \(line)."]
        }
    }

}
