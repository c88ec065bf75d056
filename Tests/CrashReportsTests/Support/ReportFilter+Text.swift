@testable import CrashReports

extension ReportFilter {
    /// Reports with a text.
    init(text: String) {
        self.init()
        self.text = text
    }
}
