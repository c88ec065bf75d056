import FaultInjection
import Testing

@Suite("Faults", .serialized, .timeLimit(.minutes(10)))
struct FaultTests {
    @Test("end in the signal that they announce", arguments: Fault.allCases)
    func signal(fault: Fault) async {
        await #expect(processExitsWith: .signal(fault.signal)) { [name = fault.rawValue as String] in
            Fault(rawValue: name)?.commit()
        }
    }

    @Test(
        "are named after the function that commits them",
        arguments: [
            (Fault.nilUnwrap, "faultNilUnwrap"), (.ud2, "faultUd2"), (.busPastEof, "faultBusPastEof"),
            (.indexOutOfRange, "faultIndexOutOfRange"),
        ]
    )
    func functionName(fault: Fault, expected: String) {
        #expect(fault.functionName == expected)
    }

    @Test("have names of their own and summaries of one line")
    func descriptions() {
        #expect(Set(Fault.allCases.map(\.functionName)).count == Fault.allCases.count)
        #expect(Set(Fault.allCases.map(\.summary)).count == Fault.allCases.count)
        #expect(!Fault.allCases.contains { $0.summary.contains("\n") })
    }
}
