/// Merges stacks into a profile, from the outermost call on.
package struct ProfileTree: Sendable {
    /// Calls that are told at most: those that took most of the time.
    static let mostCalls = 512

    /// What makes two frames one call, below the same caller.
    private struct Key: Hashable {
        var function: String?
        var place: String?
        var inlined: Bool
    }

    private struct Node {
        var frame: CrashReport.Frame
        var depth: Int
        var seconds = 0.0
        var samples = 0
        var lines: [Int: Double] = [:]
        var children: [Key: Int] = [:]
    }

    private var nodes: [Node] = []
    private var roots: [Key: Int] = [:]
    private var samples = 0
    private var seconds = 0.0
    private var omitted = 0

    /// Makes one without samples.
    package init() {}

    /// Adds samples that saw the same stack.
    ///
    /// - Parameters:
    ///   - frames: The stack, the innermost frame first.
    ///   - seconds: The time that they stand for.
    ///   - samples: How many they are.
    package mutating func add(_ frames: [CrashReport.Frame], seconds: Double, samples: Int = 1) {
        self.samples += samples
        self.seconds += seconds
        var parent: Int?
        // What the compiler checks is no call, and its own mark of that has no line.
        for frame in frames.reversed() where frame.runtimeFailure == nil {
            let node = child(of: parent, frame)
            nodes[node].seconds += seconds
            nodes[node].samples += samples
            if let line = frame.line, line > 0 { nodes[node].lines[line, default: 0] += seconds }
            parent = node
        }
    }

    /// Adds a profile: calls of one function below the same caller become one.
    ///
    /// - Parameter profile: The profile; may come from anywhere.
    package mutating func add(_ profile: CrashReport.Stall.Profile) {
        samples = samples.addingClamped(profile.samples)
        seconds += profile.seconds
        omitted = omitted.addingClamped(max(0, profile.callsOmitted))
        var path: [Int] = []
        for row in profile.rows {
            path.removeSubrange(row.depth...)
            let node = child(of: path.last, CrashReport.Frame(row.call))
            nodes[node].seconds += max(0, row.call.seconds)
            nodes[node].samples = nodes[node].samples.addingClamped(row.call.samples)
            for line in row.call.lines where line.line > 0 { nodes[node].lines[line.line, default: 0] += line.seconds }
            path.append(node)
        }
    }

    private mutating func child(of parent: Int?, _ frame: CrashReport.Frame) -> Int {
        // Outside of all images is the kernel's page of clock functions (vdso(7)), or code that was made at run time.
        let place = frame.function == nil ? frame.imageLocation : frame.imageName
        let key = Key(function: frame.function, place: place, inlined: frame.inlined)
        if let known = parent.map({ nodes[$0].children[key] }) ?? roots[key] { return known }
        let node = nodes.count
        nodes.append(Node(frame: frame, depth: parent.map { nodes[$0].depth + 1 } ?? 0))
        if let parent { nodes[parent].children[key] = node } else { roots[key] = node }
        return node
    }

    /// All samples so far, nil without any that has a frame.
    package var profile: CrashReport.Stall.Profile? {
        guard !nodes.isEmpty else { return nil }
        // A caller took at least as long as what it called, and was there before it: what is kept is a tree.
        let heaviest = nodes.indices.sorted { (nodes[$1].seconds, $0) < (nodes[$0].seconds, $1) }
        let kept = Set(heaviest.prefix(Self.mostCalls))
        var calls: [CrashReport.Stall.Call] = []
        var waiting = order(roots.values, kept)
        while let next = waiting.popLast() {
            calls.append(call(nodes[next]))
            waiting += order(nodes[next].children.values, kept)
        }
        return CrashReport.Stall.Profile(
            samples: samples,
            seconds: seconds,
            calls: calls,
            callsOmitted: omitted.addingClamped(nodes.count - calls.count)
        )
    }

    /// The heaviest one last.
    private func order(_ siblings: some Sequence<Int>, _ kept: Set<Int>) -> [Int] {
        siblings.filter(kept.contains).sorted { (nodes[$0].seconds, $1) < (nodes[$1].seconds, $0) }
    }

    private func call(_ node: Node) -> CrashReport.Stall.Call {
        let lines = node.lines.sorted { ($1.value, $0.key) < ($0.value, $1.key) }.prefix(8)
        return CrashReport.Stall.Call(
            depth: node.depth,
            seconds: node.seconds,
            samples: node.samples,
            address: node.frame.address,
            function: node.frame.function,
            imageName: node.frame.imageName,
            imageOffset: node.frame.imageOffset,
            file: node.frame.file,
            lines: lines.map { CrashReport.Stall.LineTime(line: $0.key, seconds: $0.value) },
            inlined: node.frame.inlined,
            isUserCode: node.frame.isUserCode
        )
    }
}

extension CrashReport.Frame {
    /// What a call and a frame have in common.
    package init(_ call: CrashReport.Stall.Call, index: Int = 0) {
        self.init(
            index: index,
            address: call.address,
            kind: .returnAddress,
            imageName: call.imageName,
            imageOffset: call.imageOffset,
            function: call.function,
            file: call.file,
            inlined: call.inlined,
            isUserCode: call.isUserCode
        )
    }
}
