import CFaultInjection
import FaultInjection
import Glibc
import Holdfast

/// The request that is served, as a program would have it for its logs.
enum Tenant {
    @TaskLocal static var current = "nobody"
}

/// State that the runtimes and the kernel keep for a thread: `recovery-probe state STORE WHAT`.
@MainActor
enum StateScenarios {
    static func run(_ store: String, _ arguments: [String]) throws {
        guard let what = arguments.first else { exit(64) }
        let host = try HostScenario.host(store)
        guard host.restarts == 0 else {
            Probe.say("restarted")
            host.close()
            return
        }
        switch what {
        case "task-local": taskLocal(host)
        case "task-local-with-value": taskLocalWithValue(host)
        case "nested-task-local": nestedTaskLocal(host)
        case "outer-task-local": return outerTaskLocal(host)
        case "catch-clause": exceptions(host, trapInCatchClause)
        case "unwinding": exceptions(host, trapWhileUnwinding)
        case "run-in-catch-clause": return runInCatchClause(host)
        case "static-initialiser": again(host, trapInStaticInitialiser)
        case "statics-that-are-made": statics(host)
        case "thread-local-initialiser": threadLocal(host)
        case "trap-flag": flags(host, trapByTrapFlag)
        case "alignment-checks": flags(host, trapWithAlignmentChecks)
        case "blocked-signal": blockedSignal(host)
        case "blocked-signal-in-nested-run": blockedSignalInNestedRun(host)
        default: exit(64)
        }
        end(host)
    }

    private static func end(_ host: EventHost) {
        host.run()
        Probe.say("resumed \(host.statistics.resumedFaults)")
        host.close()
    }

    /// As `Tenant.$current.withValue(name)` does, which in a debug build is a function of the library, with a frame.
    @inline(never)
    private static func bindTenant(_ name: String) {
        let value = UnsafeMutablePointer<String>.allocate(capacity: 1)
        value.initialize(to: name)
        bindTaskLocal(
            UnsafeRawPointer(Unmanaged.passUnretained(Tenant.$current).toOpaque()),
            value,
            unsafeBitCast(String.self as Any.Type, to: UnsafeRawPointer.self)
        )
    }

    private static func taskLocal(_ host: EventHost) {
        host.perform {
            bindTenant("alice, whose name is long enough for memory of its own")
            Fault.nilUnwrap.commit()
        }
        showTenant(host)
    }

    private static func taskLocalWithValue(_ host: EventHost) {
        host.perform { Tenant.$current.withValue("alice") { Fault.nilUnwrap.commit() } }
        showTenant(host)
    }

    private static func showTenant(_ host: EventHost) {
        host.perform {
            Probe.say("tenant \(Tenant.current)")
            Tenant.$current.withValue("bob") { Probe.say("tenant \(Tenant.current)") }
            Task {
                Probe.say("task of \(Tenant.current)")
                host.stop()
            }
        }
    }

    private static func nestedTaskLocal(_ host: EventHost) {
        host.perform {
            Tenant.$current.withValue("bob") {
                host.perform {
                    bindTenant("alice")
                    bindTenant("alice again")
                    Fault.nilUnwrap.commit()
                }
                host.loop.run(in: .default, for: .zero)
                Probe.say("inside \(Tenant.current)")
            }
            Probe.say("outside \(Tenant.current)")
            host.stop()
        }
    }

    private static func outerTaskLocal(_ host: EventHost) {
        host.perform {
            bindTenant("alice")
            Fault.nilUnwrap.commit()
        }
        host.perform {
            Probe.say("tenant \(Tenant.current)")
            host.stop()
        }
        Tenant.$current.withValue("bob") { end(host) }
        Probe.say("outside \(Tenant.current)")
    }

    private static func exceptions(_ host: EventHost, _ fault: @escaping @MainActor () -> Void) {
        host.perform { fault() }
        host.perform {
            Probe.say("current \(hasCurrentException()) uncaught \(countUncaughtExceptions())")
            useStaticsThatAreMade()
            Probe.say("current \(hasCurrentException()) uncaught \(countUncaughtExceptions())")
            host.stop()
        }
    }

    private static func runInCatchClause(_ host: EventHost) {
        exceptions(host, trapInCatchClause)
        let argument = Unmanaged.passUnretained(host).toOpaque()
        callInCatchClause(
            { argument in
                guard let argument else { return }
                nonisolated(unsafe) let pointer = argument
                StateScenarios.end(Unmanaged<EventHost>.fromOpaque(pointer).takeUnretainedValue())
            },
            argument
        )
    }

    private static func again(_ host: EventHost, _ fault: @escaping @MainActor () -> Void) {
        host.perform { fault() }
        host.perform { fault() }
        host.perform { host.stop() }
    }

    private static func statics(_ host: EventHost) {
        host.perform {
            useStaticsThatAreMade()
            Fault.nilUnwrap.commit()
        }
        host.perform { host.stop() }
    }

    private static func threadLocal(_ host: EventHost) {
        host.perform { trapInThreadLocalInitialiser() }
        host.perform {
            Probe.say("value \(valueOfThreadLocal())")
            host.stop()
        }
    }

    private static func flags(_ host: EventHost, _ fault: @escaping @MainActor () -> Void) {
        host.perform { fault() }
        host.perform {
            Probe.say("flags \(processorFlags() & 0x40500)")
            host.stop()
        }
    }

    // MARK: Signal masks

    private static func block(_ signal: CInt) {
        var set = sigset_t()
        sigemptyset(&set)
        sigaddset(&set, signal)
        pthread_sigmask(SIG_BLOCK, &set, nil)
    }

    private static func isBlocked(_ signal: CInt) -> Bool {
        var set = sigset_t()
        pthread_sigmask(SIG_BLOCK, nil, &set)
        return sigismember(&set, signal) == 1
    }

    private static func blockedSignal(_ host: EventHost) {
        block(SIGUSR2)
        host.perform {
            block(SIGUSR1)
            block(SIGWINCH)
            Fault.nilUnwrap.commit()
        }
        host.perform {
            Probe.say("blocked \(isBlocked(SIGUSR1)) \(isBlocked(SIGWINCH)) \(isBlocked(SIGUSR2))")
            // What a callout that returns has changed is meant to last.
            block(SIGUSR1)
        }
        host.perform { Fault.nilUnwrap.commit() }
        host.perform {
            Probe.say("blocked \(isBlocked(SIGUSR1))")
            host.stop()
        }
    }

    /// What a callout that returned has changed lasts, in a nested run, too.
    private static func blockedSignalInNestedRun(_ host: EventHost) {
        host.perform {
            host.perform { block(SIGUSR1) }
            host.perform {
                block(SIGWINCH)
                Fault.nilUnwrap.commit()
            }
            host.loop.run(in: .default, for: .zero)
            host.loop.run(in: .default, for: .zero)
            Probe.say("inside \(isBlocked(SIGUSR1)) \(isBlocked(SIGWINCH))")
            host.perform {
                Probe.say("outside \(isBlocked(SIGUSR1)) \(isBlocked(SIGWINCH))")
                host.stop()
            }
            Fault.nilUnwrap.commit()
        }
    }
}
