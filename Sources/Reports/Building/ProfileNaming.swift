internal import Symbolication

/// Names the functions of a profile that has none.
struct ProfileNaming {
    private let symbolicator: Symbolicator
    private let images: [CrashReport.Image]

    /// Takes what knows names, and the images of the report.
    init(_ symbolicator: Symbolicator, images: [CrashReport.Image]) {
        self.symbolicator = symbolicator
        self.images = images
    }

    /// Names the calls that have no name; those that turn out to be of one function are put together.
    ///
    /// Only a call without a name is at one address, and so at one line. What has a name stays as it is.
    ///
    /// - Parameters:
    ///   - profile: The profile; may come from anywhere.
    ///   - used: Gets the places of the images that calls without a name lie in.
    ///   - changes: Is raised by how many calls were named.
    /// - Returns: The profile with what is known now.
    func named(
        _ profile: CrashReport.Stall.Profile,
        _ used: inout Set<Int>,
        _ changes: inout Int
    ) -> CrashReport.Stall.Profile {
        let rows = profile.rows
        var calls: [CrashReport.Stall.Call] = []
        calls.reserveCapacity(rows.count)
        // How much deeper what a call of each depth calls is now: inlined calls come in between.
        var shifts: [Int] = []
        var named = 0
        for (index, row) in rows.enumerated() {
            shifts.removeSubrange(row.depth...)
            let depth = row.depth + (shifts.last ?? 0)
            let isCaller = index + 1 < rows.count && rows[index + 1].depth > row.depth
            let chain = names(of: row.call, isReturnAddress: isCaller, &used)
            guard !chain.isEmpty else {
                var call = row.call
                call.depth = depth
                calls.append(call)
                shifts.append(shifts.last ?? 0)
                continue
            }
            named += 1
            for (place, symbol) in chain.enumerated() {
                calls.append(call(row.call, symbol, depth: depth + place))
            }
            shifts.append((shifts.last ?? 0) + chain.count - 1)
        }
        guard named > 0 else { return profile }
        changes += named
        var result = profile
        result.calls = calls
        var tree = ProfileTree()
        tree.add(result)
        return tree.profile ?? profile
    }

    /// What is at the address of a call, the function first and then what was inlined into it there; nothing if that is not known.
    private func names(
        of call: CrashReport.Stall.Call,
        isReturnAddress: Bool,
        _ used: inout Set<Int>
    ) -> [SymbolicatedFrame] {
        guard call.function == nil,
            let image = images.firstIndex(where: { $0.base <= call.address && call.address < $0.end })
        else { return [] }
        used.insert(image)
        let symbols = symbolicator.symbolicate(address: call.address.rawValue, isReturnAddress: isReturnAddress)
        let functions = symbols.filter { !$0.isRuntimeFailure }
        return functions.contains { $0.function != nil } ? functions.reversed() : []
    }

    private func call(
        _ old: CrashReport.Stall.Call,
        _ symbol: SymbolicatedFrame,
        depth: Int
    ) -> CrashReport.Stall.Call {
        let image = images.firstIndex { $0.base <= old.address && old.address < $0.end }
        var call = old
        (call.depth, call.function, call.file, call.inlined) = (depth, symbol.function, symbol.file, symbol.inlined)
        call.lines = symbol.line.map { [.init(line: $0, seconds: old.seconds)] } ?? []
        call.isUserCode = image == 0 && UserCode.contains(symbol)
        return call
    }
}
