/// A cell of the page: outcomes of one cause at some places in some builds, as short as they can be said.
struct MatrixCell {
    /// Where something was seen.
    struct Origin: Hashable {
        let place: Place
        let build: Build
    }

    let outcomes: [Origin: Outcome]

    /// The usual outcome, and in brackets where it is another one.
    var text: String {
        let groups = Dictionary(grouping: outcomes.keys) { outcomes[$0] ?? .unclassified }
        // The one that is seen most; where two are, the one that comes first by its name.
        let order = groups.keys.sorted { left, right in
            let (first, second) = (groups[left]?.count ?? 0, groups[right]?.count ?? 0)
            return first == second ? left < right : first > second
        }
        guard let usual = order.first else { return "–" }
        let others = order.dropFirst().map { "\(describe(groups[$0] ?? [])): \($0)" }
        return others.isEmpty ? "\(usual)" : "\(usual) (\(others.joined(separator: "; ")))"
    }

    private func describe(_ origins: [Origin]) -> String {
        let builds = Set(origins.map(\.build)).sorted()
        let places = Set(origins.map(\.place)).sorted { $0.rawValue < $1.rawValue }
        let allBuilds = Set(outcomes.keys.map(\.build))
        let allPlaces = Set(outcomes.keys.map(\.place))
        let buildNames = builds.map(\.rawValue).joined(separator: ", ")
        let placeNames = places.map(\.rawValue).joined(separator: ", ")
        guard origins.count == builds.count * places.count else {
            let pairs = origins.map { "\($0.place.rawValue) in \($0.build.rawValue)" }
            return pairs.sorted().joined(separator: ", ")
        }
        if places.count == allPlaces.count { return buildNames }
        return builds.count == allBuilds.count ? placeNames : "\(placeNames) in \(buildNames)"
    }
}
