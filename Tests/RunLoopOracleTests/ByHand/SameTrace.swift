import Testing

/// Plays a scenario on CFRunLoop and on HostRunLoop and expects the same of both.
///
/// - Parameters:
///   - items: What there is.
///   - steps: What is done outside all runs.
///   - brief: What both show, in the short form of `brief(_:)`: a test says what it proves.
///   - location: Where the test is.
func expectSame(
    _ items: [ScenarioItem],
    _ steps: [Action],
    shows brief: String,
    at location: SourceLocation = #_sourceLocation
) {
    let comparison = Comparison(Scenario(items, steps: steps))
    if !comparison.isEqual {
        Issue.record("\(comparison.report)", sourceLocation: location)
    }
    #expect(comparison.expected.brief == brief.split(separator: " ").map(String.init), sourceLocation: location)
}

extension [TraceEntry] {
    /// The callouts and results: `name`, `name.stage` of an observer, `name+mode` when scheduled, `name-mode` when
    /// cancelled.
    var brief: [String] {
        compactMap { entry in
            switch entry {
            case .called(let name, let activity, _, _): name + (activity?.swiftSource ?? "")
            case .scheduled(let name, let mode): "\(name)+\(mode)"
            case .cancelled(let name, let mode): "\(name)-\(mode)"
            case .ended(let result, _): "\(result)"
            case .modes, .item, .nextTimer, .cut: nil
            }
        }
    }
}
