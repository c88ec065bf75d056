import Symbolication
import Testing

@Suite("Demangler")
struct DemanglerTests {
    @Test(
        "turns linker names into names for readers",
        arguments: [
            ("$s14FaultInjection14faultNilUnwrapyyF", "FaultInjection.faultNilUnwrap() -> ()"),
            ("_$s14FaultInjection14faultNilUnwrapyyF", "FaultInjection.faultNilUnwrap() -> ()"),
            (
                "$ss5print_9separator10terminatoryypd_S2StF",
                "Swift.print(_: Any..., separator: Swift.String, terminator: Swift.String) -> ()"
            ),
            ("_ZNSt6vectorIiSaIiEE9push_backEOi", "std::vector<int, std::allocator<int> >::push_back(int&&)"),
            ("_ZL23swift_image_constructorv", "swift_image_constructor()"),
        ]
    )
    func mangled(name: String, expected: String) {
        #expect(Demangler.demangle(name) == expected)
    }

    @Test(
        "A closure has the name of what it is written in, and none where that is top-level code",
        arguments: [
            ("$s7greeteryycfU_", "closure #1"),
            ("$s7greeteryycfU1_yycfU_", "closure #1 in closure #3"),
            ("$s7greeter5startyyFyycfU_", "closure #1 in start()"),
        ]
    )
    func closures(name: String, expected: String) {
        #expect(Demangler.brief(name) == expected)
    }

    @Test(
        "leaves other names as they are",
        arguments: [
            "", "main", "qsort", "_start", "_", "$", "$s", "_Z", "_Zebra!", "$snot-mangled", "zażółć", "a\0b",
            "Swift runtime failure: arithmetic overflow", String(repeating: "_Z", count: 20_000),
        ]
    )
    func plain(name: String) {
        #expect(Demangler.demangle(name) == name)
    }
}
