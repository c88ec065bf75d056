import FaultInjection
import Foundation
import Glibc
import TestSupport
import Testing

/// What the catalogue says of each cause.
@Suite struct CauseTests {
    @Test func `Faults and hazards are all there, the faults first`() {
        #expect(Cause.allCases.prefix(Fault.allCases.count) == Fault.allCases.map(Cause.fault)[...])
        #expect(Cause.allCases.suffix(Hazard.allCases.count) == Hazard.allCases.map(Cause.hazard)[...])
        #expect(Cause.allCases.count == Fault.allCases.count + Hazard.allCases.count)
        #expect(!Fault.allCases.isEmpty && !Hazard.allCases.isEmpty)
    }

    @Test func `No two causes have one name, one function or one summary`() {
        // A hazard with the name of a fault could not be asked for.
        #expect(Set(Cause.allCases.map(\.name)).count == Cause.allCases.count)
        #expect(Set(Cause.allCases.map(\.functionName)).count == Cause.allCases.count)
        #expect(Set(Cause.allCases.map(\.summary)).count == Cause.allCases.count)
    }

    @Test(arguments: Cause.allCases) func `A cause is found by its name, which is a word for command lines`(
        cause: Cause
    )
        throws
    {
        #expect(Cause(name: cause.name) == cause)
        #expect(cause.name.wholeMatch(of: /[a-z][a-z0-9]*(-[a-z0-9]+)*/) != nil, "\(cause.name)")
    }

    @Test(arguments: [
        "", " ", "no-such", "Nil-Unwrap", "nilUnwrap", "nil_unwrap", "nil-unwrap ", " nil-unwrap", "nil-unwrap\n",
        "nil", "nil-unwrap-", "faultNilUnwrap", "fault", "hazard", "nil-unwrap@timer",
    ])
    func `Another name is that of no cause`(name: String) {
        #expect(Cause(name: name) == nil)
        #expect(Fault(rawValue: name) == nil && Hazard(rawValue: name) == nil)
    }

    @Test func `A function is named after its cause`() {
        #expect(Cause.fault(.nilUnwrap).functionName == "faultNilUnwrap")
        #expect(Cause.fault(.ud2).functionName == "faultUd2")
        #expect(Cause.hazard(.nonCanonicalStackPointer).functionName == "faultNonCanonicalStackPointer")
        for fault in Fault.allCases { #expect(fault.functionName == Cause.fault(fault).functionName) }
    }

    @Test func `Each function is written once`() throws {
        let folder = BuiltProduct.file("Sources/FaultInjection").path
        let sources = try FileManager.default.subpathsOfDirectory(atPath: folder).filter { name in
            [".swift", ".c", ".cpp"].contains { name.hasSuffix($0) }
        }
        // A search that reads nothing finds nothing twice, either.
        try #require(sources.count > 5)
        let lines = try sources.flatMap {
            try String(contentsOfFile: "\(folder)/\($0)", encoding: .utf8).split(separator: "\n")
        }
        for cause in Cause.allCases {
            let (inSwift, inC) = ("func \(cause.functionName)() {", "void \(cause.functionName)(void) {")
            let places = lines.filter { $0.contains(inSwift) || $0.contains(inC) }
            #expect(places.count == 1, "\(cause.functionName): \(places)")
        }
    }

    /// The names that summaries have for signals.
    private static let signals: [Substring: CInt] = [
        "trap": SIGILL, "SIGILL": SIGILL, "SIGTRAP": SIGTRAP, "SIGABRT": SIGABRT, "SIGBUS": SIGBUS, "SIGFPE": SIGFPE,
        "SIGSEGV": SIGSEGV, "SIGSYS": SIGSYS, "SIGXCPU": SIGXCPU, "SIGXFSZ": SIGXFSZ,
    ]

    @Test(arguments: Cause.allCases) func `A summary is one line, which ends with the signal`(cause: Cause) throws {
        #expect(!cause.summary.contains("\n"))
        let words = try #require(cause.summary.firstMatch(of: /^[a-z].* \(([A-Za-z]+)[^()]*\)$/), "\(cause.summary)")
        #expect(Self.signals[words.1] == cause.signal, "\(cause.summary)")
    }
}
