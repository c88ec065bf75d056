import Testing

@testable import CrashReports

@Suite struct StableNameTests {
    @Test(arguments: [
        ("Router.route(for:)", "Router.route(for:)"),
        ("specialized Router.route(for:)", "Router.route(for:)"),
        ("@objc closure #1 in closure #2 in start()", "closure in closure in start()"),
        ("implicit closure #1 in f()", "closure in f()"),
        ("inner #1 (x:) in outer()", "inner (x:) in outer()"),
        ("merged specialized f<A>(_:)", "f(_:)"),
        ("generic specialization <Swift.Int> of main.f<A>(A) -> ()", "main.f(A) -> ()"),
        ("generic specialization <[Swift.Array<Swift.Int>]> of f()", "f()"),
        ("partial apply for closure #1 in f()", "closure in f()"),
        ("(1) await resume partial function for Agent.work()", "Agent.work()"),
        ("(2) suspend resume partial function for closure #1 in f()", "closure in f()"),
        ("(value in _0123456789ABCDEF0123456789ABCDEF).getter", "(value).getter"),
        ("static Version.< infix(_:_:)", "static Version.< infix(_:_:)"),
        ("static Version.<= infix(_:_:)", "static Version.<= infix(_:_:)"),
        ("Stack<A>.pop()", "Stack.pop()"),
        ("std::vector<int, std::allocator<int> >::at(unsigned long)", "std::vector::at(unsigned long)"),
        ("operator<<(std::ostream&, int)", "operator<<(std::ostream&, int)"),
        ("bool operator< <int>(int)", "bool operator< <int>(int)"),
        ("f.part.0", "f"), ("f.isra.3.constprop.1", "f"), ("f.cold", "f"), ("f.llvm.123456", "f"),
        ("f [clone .cold]", "f"),
        ("f() with unmangled suffix \".llvm.12\"", "f()"),
        ("a<b", "a<b"), ("<", "<"), ("", ""), (".cold", ".cold"), ("specialized ", "specialized "),
    ])
    func `A name loses what changes while the function stays the same`(name: String, stable: String) {
        #expect(StableName.of(name) == stable)
    }

    @Test(arguments: [
        ("closure #1 in f()", "f()"), ("closure #1 in closure #3 in Agent.start()", "Agent.start()"),
        ("@objc closure #1 in f<A>()", "f()"), ("f()", nil), ("closure", nil),
    ])
    func `The function that a closure is written in is known`(name: String, parent: String?) {
        #expect(StableName.parent(ofClosure: name) == parent)
    }

    @Test(arguments: [
        ("no route for \"a b\" after 12 tries", "no route for \"\" after 0 tries"),
        ("object 0x7f00beef was gone", "object 0 was gone"),
        ("id 5d2f-a1, peer 10.0.0.7:25", "id 0-0, peer 0:0"),
        ("an  open “quote", "an open “quote"),
    ])
    func `A text loses its numbers and what stands in quotes`(text: String, stable: String) {
        #expect(StableText.of(text) == stable)
    }

    @Test func `Names and texts that are made to harm are harmless`() {
        let deep = String(repeating: "<", count: 100_000)
        #expect(StableName.of("f" + deep).count <= 4096)
        #expect(StableName.of(String(repeating: "specialized ", count: 10_000)).count <= 200_000)
        #expect(StableText.of(deep).count <= StableText.limit)
        #expect(StableText.of(String(repeating: "\"a\" 1 ", count: 10_000)).count <= StableText.limit)
    }
}
