@testable import CrashReports

/// A report of a fault with all there can be in it.
enum RichReport {
    static let time = Timestamp(seconds: 1_795_243_212, nanoseconds: 123_456_000)

    static func report(
        id: ReportID = ReportID(rawValue: "01a1fcd57d5b8f3e7b21d4a6905c1e77") ?? ReportID(time: time),
        time: Timestamp = time
    ) -> CrashReport {
        var report = base(id: id, time: time)
        report.otherThreads = otherThreads
        report.threadsOmitted = 2
        report.context = context(before: time)
        report.recovery = .init(
            drained: true,
            quarantined: true,
            heldLocks: 1,
            inLockFrame: true,
            touched: ["routing table"]
        )
        report.notes = ["2 threads were not looked at: the time was up"]
        return report
    }

    private static func base(id: ReportID, time: Timestamp) -> CrashReport {
        CrashReport(
            id: id,
            subject: .fault(fault),
            reason: "write to address 0x18 (null page)",
            diagnosis: .init(
                summary: "A null pointer was written through: a member 24 bytes into an object that is not there.",
                next: [
                    "Router.swift:88: what can be nil there",
                    "who empties the routing table while the retry queue runs",
                ]
            ),
            timestamp: time,
            fingerprint: Fingerprint(rawValue: "v2-0c6d1f2e3a4b5c6d"),
            occurrences: .init(count: 3, first: time, last: time.adding(seconds: 65)),
            process: .init(
                name: "mail-agent",
                pid: 4242,
                parentPid: 1,
                executable: "/usr/local/bin/mail-agent",
                arguments: ["mail-agent", "--port", "2525"],
                buildID: "8c2f0d3b5a5e4f7c9d1e00112233445566778899",
                startTime: time.adding(seconds: -1692),
                uptimeSeconds: 1692.123456,
                restarts: 2
            ),
            host: .init(
                name: "mx1",
                kernel: "6.1.0-18-amd64",
                os: "Debian GNU/Linux 12 (bookworm)",
                architecture: "x86_64",
                processors: 4
            ),
            runtime: .init(holdfast: "0.1.0", swift: "6.3.1", libc: "glibc 2.36"),
            loop: .init(
                mode: "default",
                activity: "beforeTimers",
                callout: .init(kind: .timer, label: "retry queue", item: 17),
                nesting: 1,
                pass: 90412
            ),
            thread: .init(id: 4242, name: "mail-agent", isMain: true, frames: frames, registers: registers),
            images: images,
            verdict: .init(decision: .restart, reason: "a lock was taken since the callout began and is still held")
        )
    }

    private static let fault = CrashReport.Fault(
        number: 3,
        signal: .signal(11),
        code: .code(1, ofSignal: 11),
        address: HexAddress(0x18),
        access: .write,
        addressKind: .noCode,
        message: """
            MailAgent/Router.swift:88: Fatal error: Unexpectedly found nil while unwrapping an Optional value
            routing table was empty
            """,
        instructions: .init(
            address: HexAddress(0x5581_c2a4_1b70),
            bytes: "488b4708488b00c3660f1f440000554889e5",
            about: "code"
        )
    )

    private static let frames: [CrashReport.Frame] = [
        frame(
            0,
            0x21b7d,
            "Swift runtime failure: Unexpectedly found nil while unwrapping an Optional value",
            inlined: true
        ),
        frame(1, 0x21b7d, "Router.route(for:)", 189, "/src/Sources/MailAgent/Router.swift", 88, 40),
        frame(2, 0x1e010, "closure #1 in RetryQueue.start()", 64, "/src/Sources/MailAgent/RetryQueue.swift", 31, 24),
        frame(3, 0x40144, "HostRunLoop.serveTimer(_:)", 132, isUserCode: false),
        frame(4, 0x40f00, "HostRunLoop.run(in:for:)", 412, isUserCode: false),
        frame(5, 0x2724a, nil, image: 1, isUserCode: false),
    ]

    private static let registers: [String: HexAddress] = [
        "rax": HexAddress(0), "rbx": HexAddress(0x7f2a_1800_4c20), "rdi": HexAddress(0x7f2a_1800_4c20),
        "rbp": HexAddress(0x7ffd_5c1a_3e90), "rsp": HexAddress(0x7ffd_5c1a_3e40), "rip": HexAddress(0x5581_c2a4_1b7d),
        "eflags": HexAddress(0x10246),
    ]

    private static let images: [CrashReport.Image] = [
        .init(
            name: "mail-agent",
            path: "/usr/local/bin/mail-agent",
            base: HexAddress(0x5581_c2a2_0000),
            end: HexAddress(0x5581_c2b1_0000),
            buildID: "8c2f0d3b5a5e4f7c9d1e00112233445566778899"
        ),
        .init(
            name: "libc.so.6",
            path: "/usr/lib/x86_64-linux-gnu/libc.so.6",
            base: HexAddress(0x7f2a_1c60_0000),
            end: HexAddress(0x7f2a_1c7d_5000),
            buildID: "68220ae2c65d65c1b6aaa12fa6765a6ec2f5f434"
        ),
    ]

    private static let otherThreads: [CrashReport.Thread] = [
        .init(
            id: 4250,
            name: "resolver",
            isMain: false,
            frames: [
                frame(0, 0x8ae3c, "__futex_abstimed_wait_common", 124, image: 1, isUserCode: false),
                frame(1, 0x30100, "Resolver.next()", 88, "/src/Sources/MailAgent/Resolver.swift", 140, 9),
            ],
            registers: ["rip": HexAddress(0x7f2a_1c68_ae3c)],
            state: .sleeping,
            systemCall: "futex",
            sampledAfter: 0.0021
        ),
        .init(
            id: 4251,
            isMain: false,
            frames: [frame(0, 0x10e3d7, "epoll_wait", 86, image: 1, isUserCode: false)],
            state: .running
        ),
    ]

    private static func context(before time: Timestamp) -> CrashReport.Context {
        func crumb(
            _ seconds: Double,
            _ kind: CrashReport.Breadcrumb.Kind,
            _ text: String,
            level: String? = nil
        ) -> CrashReport.Breadcrumb {
            .init(time: time.adding(seconds: -seconds), kind: kind, text: text, thread: 4242, level: level)
        }
        return CrashReport.Context(
            breadcrumbs: [
                crumb(62.5, .fault, "SIGILL in timer “retry queue”: resumed"),
                crumb(4.2, .port, "client 79"),
                crumb(1.25, .note, "reloading the routing table", level: "notice"),
                crumb(0.31, .note, "routing table is empty, keeping the old one", level: "warning"),
                crumb(0.002, .timer, "retry queue"),
            ],
            breadcrumbsLost: 1200,
            annotations: ["queue": "17 waiting", "peer": "mx2.example.org"],
            tags: [
                "region": "eu-1", "release": "mail-agent 2.4.1", "environment": "production",
                "trace_id": "4BF92F3577B34DA6A3CE929D0E0E4736", "span_id": "00f067aa0ba902b7",
            ],
            environment: ["LANG": "C.UTF-8"],
            memory: .init(
                resident: 48_300_032,
                peakResident: 61_000_000,
                virtual: 912_000_000,
                systemTotal: 8_589_934_592,
                systemAvailable: 3_221_225_472
            ),
            load: [0.42, 0.8, 1.25],
            descriptors: .init(open: 118, limit: 1024),
            threadCount: 5,
            limits: ["Max open files": .init(soft: 1024, hard: 524_288), "Max core file size": .init(soft: 0)],
            container: .init(
                runtime: "docker",
                id: "f2ca1bb6c7e907d06dafe4687e579fce76b37e4e93b7605022da52e6ccc26fd2",
                controlGroup: "/system.slice/mail.service",
                memoryLimit: 536_870_912,
                processorLimit: 1.5
            )
        )
    }

    static func frame(
        _ index: Int,
        _ offset: UInt64,
        _ function: String?,
        _ functionOffset: Int? = nil,
        _ file: String? = nil,
        _ line: Int? = nil,
        _ column: Int? = nil,
        image: Int = 0,
        inlined: Bool = false,
        isUserCode: Bool = true
    ) -> CrashReport.Frame {
        CrashReport.Frame(
            index: index,
            address: HexAddress((image == 0 ? 0x5581_c2a2_0000 : 0x7f2a_1c60_0000) + offset),
            kind: index < 2 ? .programCounter : .returnAddress,
            image: image,
            imageName: image == 0 ? "mail-agent" : "libc.so.6",
            imageOffset: HexAddress(offset),
            function: function,
            rawName: function.map { "$s\($0.count)mangled" },
            functionOffset: functionOffset,
            file: file,
            line: line,
            column: column,
            inlined: inlined,
            isUserCode: isUserCode
        )
    }
}
