internal import CrashReports
internal import ReportText

/// Threads and their stacks.
extension HTMLReportPage {
    private static let mostFrames = 128
    private static let mostThreads = 48

    func addThread(_ thread: CrashReport.Thread, of report: CrashReport, hasFaulted: Bool, to html: inout HTMLText) {
        if hasFaulted {
            let words = report.kind == .stall ? "the first sample" : "faulted"
            html.element("h5", text: "\(title(of: thread)), \(words)", limit: 200)
        }
        let pieces = StackPiece.pieces(of: thread, mostFrames: Self.mostFrames)
        guard !pieces.isEmpty else {
            html.element("p.note", text: "No frames.")
            return
        }
        var marked = !hasFaulted
        html.element("ol.stack") { html in
            for piece in pieces {
                switch piece {
                case .frame(let frame):
                    let isFirst = !marked && frame.isApplicationCode
                    if isFirst { marked = true }
                    addFrame(frame, isFirst: isFirst, to: &html)
                case .library(let frames): addLibrary(frames, to: &html)
                case .gap(let words): html.element("li.gap", text: words)
                }
            }
        }
    }

    private func title(of thread: CrashReport.Thread) -> String {
        let name = thread.name.map { " “\($0)”" } ?? ""
        return "Thread \(thread.id)\(name)\(thread.isMain ? ", the main thread" : "")"
    }

    private func addLibrary(_ frames: [CrashReport.Frame], to html: inout HTMLText) {
        var images: [String] = []
        for frame in frames {
            let name = frame.imageName ?? "unknown code"
            if !images.contains(name) { images.append(name) }
        }
        let more = images.count > 3 ? " and \(images.count - 3) more" : ""
        html.element("li.library") { html in
            html.element("details") { html in
                html.element("summary") { html in
                    let count = Count.of(frames.count, "library frame")
                    html.text("\(count) in \(images.prefix(3).joined(separator: ", "))\(more)")
                }
                html.element("ol") { html in
                    for frame in frames { addFrame(frame, isFirst: false, to: &html) }
                }
            }
        }
    }

    private func addFrame(_ frame: CrashReport.Frame, isFirst: Bool, to html: inout HTMLText) {
        let style = "frame\(frame.isApplicationCode ? " yours" : "")\(isFirst ? " first" : "")"
        html.element("li", ["class": style]) { html in
            html.element("span.index", text: String(frame.index))
            html.element("span.call") { html in
                html.element("code", ["title": frame.rawName.map { $0.limited(to: 500) }]) { html in
                    html.name(frame.function ?? frame.imageLocation ?? frame.address.description, limit: 600)
                }
                if frame.inlined { html.element("span.tag", text: "inlined") }
            }
            html.element("span.place") { html in
                if let place = frame.sourcePlace {
                    html.element("b", ["title": frame.file.map { $0.limited(to: 500) }], text: place, limit: 200)
                }
                if let image = frame.imageName, frame.function != nil {
                    html.element("span", ["title": frame.address.description], text: image, limit: 100)
                }
            }
        }
    }

    func addOtherThreads(_ report: CrashReport, to html: inout HTMLText) {
        guard !report.otherThreads.isEmpty else { return }
        let count = report.otherThreads.count + min(max(0, report.threadsOmitted), 1 << 30)
        html.fold(Count.of(count, "other thread")) { html in
            for thread in report.otherThreads.prefix(Self.mostThreads) {
                html.element("section.thread") { html in
                    html.element("h6") { html in
                        html.text(title(of: thread), limit: 200)
                        let state = ReportText(report).states(of: thread).joined(separator: ", ")
                        html.element("span.quiet", text: " \(state)", limit: 200)
                    }
                    addThread(thread, of: report, hasFaulted: false, to: &html)
                }
            }
            let more = report.otherThreads.count - Self.mostThreads
            if more > 0 { html.element("p.note", text: "\(more) more not shown.") }
            if report.threadsOmitted > 0 {
                html.element("p.note", text: "\(report.threadsOmitted) were not looked at.")
            }
        }
    }
}

/// What a stack is drawn of.
private enum StackPiece {
    case frame(CrashReport.Frame)
    /// Frames that are not the application's, one after the other.
    case library([CrashReport.Frame])
    /// Words in the place of frames.
    case gap(String)

    static func pieces(of thread: CrashReport.Thread, mostFrames: Int) -> [StackPiece] {
        var pieces: [StackPiece] = []
        var library: [CrashReport.Frame] = []
        func endLibrary() {
            if library.count > 1 { pieces.append(.library(library)) } else { pieces += library.map(StackPiece.frame) }
            library = []
        }
        var next = thread.frames.first?.index ?? 0
        let half = mostFrames / 2
        let frames =
            thread.frames.count > mostFrames ? thread.frames.prefix(half) + thread.frames.suffix(half) : thread.frames
        for run in FrameRuns(Array(frames)) {
            if let first = run.frames.first, first.index > next {
                endLibrary()
                pieces.append(.gap("… \(Count.of(first.index &- next, "frame")) left out"))
            }
            next = (run.frames.last?.index ?? next) &+ 1
            guard run.frames.contains(where: \.isUserCode) else {
                library += run.frames
                continue
            }
            endLibrary()
            let (head, omitted, tail) = ReportText.parts(of: run)
            pieces += head.map(StackPiece.frame)
            if omitted > 0 { pieces.append(.gap("… \(omitted) more calls of the same")) }
            pieces += tail.map(StackPiece.frame)
        }
        endLibrary()
        if thread.framesTruncated { pieces.append(.gap("The walk ended before the end of the stack.")) }
        return pieces
    }
}
