import TestSupport
import Testing

@testable import CrashReports

/// `TextSearch.swift` beside the standard library's search.
struct TextSearchTests {
    @Test(arguments: ["", "a", "ab", "ba", "abab", "aab", "é", "b"])
    func findsWhatTheStandardLibraryFinds(pattern: String) {
        var generator = SplitMix(state: 19)
        for _ in 0..<500 {
            let text = String(
                (0..<Int.random(in: 0...12, using: &generator)).map { _ in "aabé".randomElement(using: &generator)! }
            )
            let expected = pattern.isEmpty ? nil : text.firstRange(of: pattern)
            #expect(text.firstPlace(of: pattern) == expected, "\(pattern) in \(text)")
            #expect(text.holds(pattern) == (expected != nil))
            let part = text.dropFirst().dropLast()
            #expect(part.firstPlace(of: pattern) == (pattern.isEmpty ? nil : part.firstRange(of: pattern)))
        }
    }

    @Test func theLastPlaceMayOverlapTheOneBefore() {
        let text = "xaaay"
        let place = text.lastPlace(of: "aa")
        #expect(place.map { text.distance(from: text.startIndex, to: $0.lowerBound) } == 2)
        #expect(text.lastPlace(of: "b") == nil)
        #expect("".lastPlace(of: "a") == nil)
    }

    @Test func aPatternLongerThanTheTextIsNotFound() {
        #expect("ab".firstPlace(of: "abc") == nil)
        #expect(Substring().firstPlace(of: "a") == nil)
    }
}
