import CFaultInjection
import Dispatch
import FaultInjection
import Glibc
import Holdfast
import SystemPackage

/// Processes that end themselves, threads that block all signals, and a process without a free descriptor:
/// `recovery-probe ending STORE WHAT`.
@MainActor
enum EndingScenarios {
    static func run(_ store: String, _ arguments: [String]) throws {
        guard let what = arguments.first else { exit(64) }
        switch what {
        // The same again, with a mask that was inherited, and a thread from before the host.
        case "masked-by-parent" where arguments.count == 1: try executeMasked(store)
        case "masked-before-host": return try maskBeforeHost(store)
        default: break
        }
        let host = try HostScenario.host(store)
        guard host.restarts == 0 else {
            Probe.say("restarted")
            host.close()
            return
        }
        switch what {
        case "exit": host.perform { exitWithFault(3) }
        case "quick-exit":
            at_quick_exit { Fault.nilUnwrap.commit() }
            host.perform { quick_exit(3) }
        case "exit-on-thread": host.perform { onThread { exitWithFault(3) } }
        case "exit-from-main":
            // These scenarios end by a return from `main`.
            atexit { Fault.nilUnwrap.commit() }
            return
        case "exit-in-child": exitInChild(host)
        case "masked-main":
            host.perform(maskAndFault)
            host.perform { host.stop() }
        case "masked-thread": host.perform { onThread(maskAndFault) }
        case "masked-of-old":
            host.perform {
                onThread {
                    blockSignalsByOldCalls()
                    reportMask()
                }
            }
        case "masked-loop": try maskLoop(host)
        case "masked-task": host.perform { Task.detached { maskAndFault() } }
        case "masked-worker": host.perform { DispatchQueue.global().async(execute: maskAndFault) }
        case "masked-handler": host.perform(faultInMaskedHandler)
        case "masked-wait": host.perform { faultInMaskedWait(waitWithSignalMask) }
        case "masked-epoll": host.perform { faultInMaskedWait(waitByEpollWithSignalMask) }
        case "masked-by-parent": host.perform { onThread { reportMask() } }
        case "masked-timer": host.perform { callOnThreadOfTimer { @Sendable in EndingScenarios.reportMask() } }
        case "deep-timer": host.perform { callOnThreadOfTimer { @Sendable in Fault.stackOverflow.commit() } }
        case "deep-standard": host.perform { callOnThreadOfC11 { @Sendable in Fault.stackOverflow.commit() } }
        case "restart-handler":
            host.onRestart {
                Probe.say("first")
                Fault.nilUnwrap.commit()
            }
            host.onRestart { Probe.say("second") }
            host.perform { host.restart() }
        case "child-namespace": faultInNamespace(host)
        case "file-size": reachFileSize(host)
        case "descriptor-limit": useUpDescriptors(host)
        case "early-lock": Hazard.mallocLock.commit()
        case "another-root":
            Probe.say("changed \(chroot(store) == 0)")
            host.perform { Fault.nilUnwrap.commit() }
            host.perform { host.stop() }
        default: exit(64)
        }
        host.run()
        Probe.say("resumed \(host.statistics.resumedFaults)")
        host.close()
    }

    // MARK: Exit

    nonisolated private static func exitWithFault(_ status: CInt) -> Never {
        atexit { Fault.nilUnwrap.commit() }
        exit(status)
    }

    nonisolated private static func onThread(_ body: @escaping @Sendable () -> Void) {
        nonisolated final class Box {
            let body: @Sendable () -> Void
            init(_ body: @escaping @Sendable () -> Void) { self.body = body }
        }
        var thread = pthread_t()
        pthread_create(
            &thread,
            nil,
            { argument in
                if let argument { Unmanaged<Box>.fromOpaque(argument).takeRetainedValue().body() }
                return nil
            },
            Unmanaged.passRetained(Box(body)).toOpaque()
        )
    }

    /// A child's end is not its parent's.
    private static func exitInChild(_ host: EventHost) {
        host.perform {
            var status: CInt = 0
            let child = forkProcess()
            if child == 0 { exit(5) }
            waitpid(child, &status, 0)
            Probe.say("child exited \(status >> 8)")
            Fault.wildPointer.commit()
        }
    }

    /// A child that has its parent's pid, which is 1, because it is the first of a namespace of its own.
    private static func faultInNamespace(_ host: EventHost) {
        host.perform {
            guard beginProcessNamespace() else { return Probe.say("no namespace: \(errno)") }
            let child = forkProcess()
            if child == 0 {
                Probe.say("child is \(getpid())")
                Fault.wildPointer.commit()
            }
            var status: CInt = 0
            waitpid(child, &status, 0)
            Probe.say("parent is \(getpid()), child ended by \(status >> 8)")
            host.stop()
        }
    }

    // MARK: Limits

    /// More is kept than a file may hold, and a callout faults.
    private static func reachFileSize(_ host: EventHost) {
        host.perform {
            let isKept = (0..<100).allSatisfy { number in
                let state = [UInt8](repeating: 1, count: 1000)
                return
                    (try? host.keepAcrossRestart(
                        FileDescriptor(rawValue: STDIN_FILENO),
                        as: "name \(number)",
                        state: state
                    )) != nil
            }
            Probe.say("all kept \(isKept)")
            Fault.nilUnwrap.commit()
        }
        host.perform { host.stop() }
    }

    // MARK: Masks

    /// All of them, as threads of servers do that leave signals to another one.
    nonisolated private static func maskAndFault() {
        var all = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, nil)
        sigprocmask(SIG_BLOCK, &all, nil)
        Probe.say("blocked \(blocksFaultSignals())")
        Fault.nullWrite.commit()
    }

    private static func maskLoop(_ host: EventHost) throws {
        let thread = try HostRunLoop.LoopThread(name: "masked")
        thread.loop.performForNobody { maskAndFault() }
        thread.loop.wakeUp()
        host.onFault { _ in
            thread.stop()
            host.stop()
        }
    }

    /// A handler with a full mask, as sigaction(2) is often given.
    nonisolated private static func faultInMaskedHandler() {
        var action = sigaction()
        sigfillset(&action.sa_mask)
        action.__sigaction_handler.sa_handler = { _ in Fault.wildPointer.commit() }
        sigaction(SIGUSR1, &action, nil)
        raise(SIGUSR1)
    }

    /// A wait with a full mask but for one signal, whose handler faults.
    nonisolated private static func faultInMaskedWait(_ wait: (UnsafeRawPointer?) -> Void) {
        var action = sigaction()
        action.__sigaction_handler.sa_handler = { _ in Fault.wildPointer.commit() }
        sigaction(SIGUSR1, &action, nil)
        var mask = sigset_t()
        sigemptyset(&mask)
        sigaddset(&mask, SIGUSR1)
        pthread_sigmask(SIG_BLOCK, &mask, nil)
        raise(SIGUSR1)
        sigfillset(&mask)
        sigdelset(&mask, SIGUSR1)
        wait(&mask)
    }

    nonisolated private static func reportMask() {
        Probe.say("blocked \(blocksFaultSignals())")
        Fault.nullWrite.commit()
    }

    private static func executeMasked(_ store: String) throws {
        blockSignalsByKernel()
        let arguments = [CommandLine.arguments[0], "ending", store, "masked-by-parent", "again"]
        let pointers = arguments.map { strdup($0) } + [nil]
        execv("/proc/self/exe", pointers)
        exit(1)
    }

    /// A thread that blocked everything before there was a host.
    private static func maskBeforeHost(_ store: String) throws {
        let ends = try FileDescriptor.pipe()
        onThread {
            var all = sigset_t()
            sigfillset(&all)
            pthread_sigmask(SIG_SETMASK, &all, nil)
            var byte: UInt8 = 0
            _ = read(ends.readEnd.rawValue, &byte, 1)
            Fault.nullWrite.commit()
        }
        let host = try HostScenario.host(store)
        guard host.restarts == 0 else {
            Probe.say("restarted")
            host.close()
            return
        }
        host.perform { _ = try? ends.writeEnd.writeAll([1]) }
        host.run()
    }

    // MARK: Descriptors

    private static func useUpDescriptors(_ host: EventHost) {
        // What the verdict reads is open.
        host.perform {
            while dup(STDIN_FILENO) >= 0 {}
            Probe.say("no descriptor is left: \(errno == EMFILE)")
            Fault.nilUnwrap.commit()
        }
        host.perform {
            Probe.say("the loop goes on")
            Fault.nilUnwrap.commit()
        }
        host.onFault { _ in
            if host.statistics.resumedFaults == 2 {
                // In another mode, too.
                host.loop.performWithoutWaking(in: "another", label: "probe") {
                    host.stop()
                }
            }
        }
    }
}

/// fork(2), which the Glibc overlay hides.
@_silgen_name("fork")
private func forkProcess() -> pid_t
