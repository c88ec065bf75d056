import CrashReports
import Foundation

/// A report's stack and gdb's, side by side.
struct StackComparison {
    /// Something that the two say differently, or that only one of them has.
    struct Difference {
        var `case`: String
        var ours: CrashReport.Frame?
        var gdb: JudgedStack.Frame?
        /// How deep it was inlined into the function that was called at the address.
        var depth = 0

        /// Whether nothing but the line is different, in the program itself.
        var isOfLineAlone: Bool {
            guard let ours, let gdb, lookedUp != nil else { return false }
            return ours.address.rawValue == gdb.address && StackComparison.isSameFunction(ours, gdb)
        }

        /// The address in the program, as linked, that the report's line is of.
        var lookedUp: UInt64? {
            guard let ours, ours.image == 0, let offset = ours.imageOffset?.rawValue else { return nil }
            return ours.kind == .programCounter ? offset : offset &- 1
        }
    }

    /// How many frames are the same.
    private(set) var equal = 0
    private(set) var differences: [Difference] = []

    /// Compares address by address: what is out of step at one of them does not put the others out of step.
    init(_ report: CrashReport, _ judged: JudgedStack) {
        differences = judged.frames.filter(\.isTailCall).map { Difference(case: judged.case, ours: nil, gdb: $0) }
        // gdb knows nothing of async functions that wait.
        let calls = report.thread.frames.filter { $0.asyncRole == nil }
        let ours = Self.chains(calls, address: \.address.rawValue, isInlined: \.inlined)
        let theirs = Self.chains(judged.frames.filter { !$0.isTailCall }, address: \.address, isInlined: \.inlined)
        // What a deep recursion left out lies behind the head of our frames, by the gap in their numbers.
        let omitted = report.thread.framesOmitted
        let head = ours.indices.dropFirst().first { index in
            guard let last = ours[index - 1].last, let first = ours[index].first else { return false }
            return first.index > last.index + 1
        }
        let headCount = omitted > 0 ? head ?? ours.count : ours.count
        let kept = Array(theirs.prefix(headCount)) + theirs.dropFirst(headCount + omitted)
        for index in 0..<max(ours.count, kept.count) {
            compare(judged.case, index < ours.count ? ours[index] : [], index < kept.count ? kept[index] : [])
        }
    }

    private mutating func compare(_ name: String, _ ours: [CrashReport.Frame], _ theirs: [JudgedStack.Frame]) {
        // From the function that was called: what is inlined into it is what may be missing.
        for depth in 0..<max(ours.count, theirs.count) {
            let our = depth < ours.count ? ours[ours.count - 1 - depth] : nil
            let their = depth < theirs.count ? theirs[theirs.count - 1 - depth] : nil
            if let our, let their, Self.isEqual(our, their) {
                equal += 1
            } else {
                differences.append(Difference(case: name, ours: our, gdb: their, depth: depth))
            }
        }
    }

    private static func isEqual(_ ours: CrashReport.Frame, _ gdb: JudgedStack.Frame) -> Bool {
        // gdb shows the lines of what the compiler made up, which are in no file.
        let isReal = gdb.file.map { !$0.hasSuffix("<compiler-generated>") } ?? true
        return ours.address.rawValue == gdb.address && isSameFunction(ours, gdb)
            && path(ours.file) == (isReal ? path(gdb.file) : nil) && (ours.line ?? 0) == (isReal ? gdb.line : 0)
    }

    private static func isSameFunction(_ ours: CrashReport.Frame, _ gdb: JudgedStack.Frame) -> Bool {
        name(ours.rawName) == name(gdb.function) && ours.inlined == gdb.inlined
    }

    /// gdb leaves versions of symbols on (`memcpy@@GLIBC_2.14`), and parameters behind C functions in C++ files.
    private static func name(_ text: String?) -> String? {
        text.map { text in
            let name = text.prefix { $0 != "@" }
            return String(name.hasSuffix(")") ? name.prefix { $0 != "(" } : name)
        }
    }

    /// gdb follows symbolic links.
    private static func path(_ text: String?) -> String? {
        text.map { URL(fileURLWithPath: $0).resolvingSymlinksInPath().path }
    }

    /// The frames of each address together: the function that was called is the last.
    private static func chains<Frame>(
        _ frames: [Frame],
        address: (Frame) -> UInt64,
        isInlined: (Frame) -> Bool
    ) -> [[Frame]] {
        var chains: [[Frame]] = []
        var isOpen = false
        for frame in frames {
            if isOpen, let last = chains.last?.last, address(last) == address(frame) {
                chains[chains.count - 1].append(frame)
            } else {
                chains.append([frame])
            }
            isOpen = isInlined(frame)
        }
        return chains
    }
}
