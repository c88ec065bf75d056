import Testing

@testable import CrashReports
@testable import Symbolication

/// Which functions of the executable are the user's.
@Suite struct UserCodeTests {
    private func frame(_ name: String, _ file: String?) -> SymbolicatedFrame {
        let location = SourceLocation(file: file, line: file == nil ? 0 : 7, column: 0)
        return SymbolicatedFrame(rawName: name, functionOffset: 4, location: location, inlined: false)
    }

    @Test(arguments: [
        ("$s7greeter5greetyyF", "/srv/me/greeter/Sources/greeter/main.swift", true),
        ("$s7greeter5greetyyF", nil, true), ("parse_header", "/srv/me/greeter/Sources/CParser/parse.c", true),
        // A package that lies beside the program's is one that its developer works on.
        ("$s5Tools5queueyyF", "/srv/me/tools/Sources/Tools/Queue.swift", true),
        ("$s7NIOCore5startyyF", "/srv/me/greeter/.build/checkouts/swift-nio/Sources/NIOCore/Channel.swift", false),
        ("sqlite3_step", "/srv/me/greeter/.build/checkouts/sqlite/Sources/CSQLite/sqlite3.c", false),
        ("$s4Club5startyyF", "/srv/a/.build/registry/downloads/acme/club/1.2.0/Sources/Club/Start.swift", false),
        ("$s7NIOCore5startyyF", "/me/Library/A/SourcePackages/checkouts/swift-nio/Sources/NIOCore/A.swift", false),
        ("$s8RunLoops5startyyF", "/srv/me/holdfast/Sources/RunLoops/Run.swift", false),
        // With a static standard library: its modules are not the program's, and what the program adds to their types is.
        ("$s10Foundation4DateV4yearSiyF", nil, false), ("$s20FoundationEssentials4DataV5appendyyF", nil, false),
        ("$s8Dispatch0A4WorkC7performyyF", nil, false), ("$sSS10FoundationE4dataSiyF", nil, false),
        ("$sSS7greeterE4dataSiyF", nil, true), ("$sSS13FoundationaryE4dataSiyF", nil, true),
        ("$s10Foundation4DateV7greeterE4yearSiyF", nil, true),
        ("$s10Foundation4DateV20FoundationEssentialsE4yearSiyF", nil, false), ("__CFRunLoopRun", nil, false),
        ("CFGreet", "/srv/me/greeter/Sources/CGreet/greet.c", true),
        ("hf_async_park", nil, false), ("$sSa6appendyyxnF", nil, false), ("_start", nil, false),
    ])
    func `What was fetched with a package is not the program's own`(name: String, file: String?, isOwn: Bool) {
        #expect(UserCode.contains(frame(name, file)) == isOwn)
    }

    @Test(
        arguments: [
            ("$s7NIOCore5startyyF", "/b/.build/checkouts/swift-nio/Sources/A.swift", 0, "a", "swift-nio"),
            ("$s8Holdfast5startyyF", "/b/.build/checkouts/holdfast/Sources/A.swift", 0, "a", "Holdfast"),
            ("$sSa6appendyyxnF", nil, 0, "a", "the Swift standard library"),
            ("$s10Foundation4DateV4yearSiyF", nil, 0, "a", "Foundation"), ("_start", nil, 0, "a", "the compiler"),
            ("malloc", nil, 1, "libc.so.6", "libc"), ("$sSa6appendyyxnF", nil, 2, "libswiftCore.so", "libswiftCore"),
            ("__vdso_gettimeofday", nil, 3, "[vdso]", "[vdso]"),
        ] as [(String, String?, Int, String, String)]
    )
    func `A frame that is not the program's has an owner`(
        name: String,
        file: String?,
        image: Int,
        imageName: String,
        owner: String
    ) {
        var frame = CrashReport.Frame(index: 1, address: HexAddress(1), kind: .returnAddress, isUserCode: false)
        (frame.function, frame.rawName, frame.file) = (name, name, file)
        (frame.image, frame.imageName) = (image, imageName)
        #expect(FrameOwner(of: frame).name == owner)
    }
}
