internal import CrashReports

/// Threads and their stacks.
extension HTMLReportPage {
    private static let mostFrames = 128
    private static let mostThreads = 48
    /// Calls of the same function that are still shown one by one.
    private static let longestRun = 6

    func addThread(_ thread: CrashReport.Thread, of report: CrashReport, hasFaulted: Bool, to html: inout HTMLText) {
        if hasFaulted {
            let words = report.kind == .stall ? "the last sample" : "faulted"
            html.element("h5", text: "\(title(of: thread)), \(words)", limit: 200)
        }
        let pieces = StackPiece.pieces(of: thread, mostFrames: Self.mostFrames, longestRun: Self.longestRun)
        guard !pieces.isEmpty else {
            html.element("p", ["class": "note"], text: "No frames.")
            return
        }
        var marked = !hasFaulted
        html.element("ol", ["class": "stack"]) { html in
            for piece in pieces {
                switch piece {
                case .frame(let frame):
                    let isFirst = !marked && frame.isApplicationCode
                    if isFirst { marked = true }
                    addFrame(frame, isFirst: isFirst, to: &html)
                case .library(let frames):
                    addLibrary(frames, to: &html)
                case .gap(let words):
                    html.element("li", ["class": "gap"], text: words)
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
        html.element("li", ["class": "library"]) { html in
            html.element("details") { html in
                html.element("summary") { html in
                    let count = HTMLWords.count(frames.count, "library frame")
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
            html.element("span", ["class": "index"], text: String(frame.index))
            html.element("span", ["class": "call"]) { html in
                html.element("code", ["title": frame.rawName.map { $0.limited(to: 500) }]) { html in
                    html.name(frame.function ?? frame.imageLocation ?? frame.address.description, limit: 600)
                }
                if frame.inlined { html.element("span", ["class": "tag"], text: "inlined") }
            }
            html.element("span", ["class": "place"]) { html in
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
        html.element("details", ["class": "fold"]) { html in
            html.element("summary") { html in
                let count = report.otherThreads.count + min(max(0, report.threadsOmitted), 1 << 30)
                html.element("h5", text: HTMLWords.count(count, "other thread"))
            }
            for thread in report.otherThreads.prefix(Self.mostThreads) {
                html.element("section", ["class": "thread"]) { html in
                    html.element("h6") { html in
                        html.text(title(of: thread), limit: 200)
                        html.element("span", ["class": "quiet"], text: state(of: thread, in: report), limit: 200)
                    }
                    addThread(thread, of: report, hasFaulted: false, to: &html)
                }
            }
            let more = report.otherThreads.count - Self.mostThreads
            if more > 0 { html.element("p", ["class": "note"], text: "\(HTMLWords.count(more)) more not shown.") }
            if report.threadsOmitted > 0 {
                html.element(
                    "p",
                    ["class": "note"],
                    text: "\(HTMLWords.count(report.threadsOmitted)) were not looked at."
                )
            }
        }
    }

    private func state(of thread: CrashReport.Thread, in report: CrashReport) -> String {
        var words = thread.state?.rawValue ?? ""
        if let call = thread.systemCall { words += "\(words.isEmpty ? "" : " ")in \(call)" }
        if let seconds = thread.sampledAfter {
            words += ", \(HTMLWords.decimal(seconds * 1000)) ms after the \(report.kind.event)"
        }
        return words.isEmpty ? "" : " \(words)"
    }
}

/// What a stack is drawn of.
private enum StackPiece {
    case frame(CrashReport.Frame)
    /// Frames that are not the application's, one after the other.
    case library([CrashReport.Frame])
    /// Words in the place of frames.
    case gap(String)

    static func pieces(of thread: CrashReport.Thread, mostFrames: Int, longestRun: Int) -> [StackPiece] {
        var pieces: [StackPiece] = []
        var library: [CrashReport.Frame] = []
        func endLibrary() {
            if library.count > 1 { pieces.append(.library(library)) } else { pieces += library.map(StackPiece.frame) }
            library = []
        }
        var next = thread.frames.first?.index ?? 0
        for (place, run) in runs(of: thread.frames, mostFrames: mostFrames).enumerated() {
            if place > 0, let first = run.first, first.index > next {
                endLibrary()
                pieces.append(.gap("… \(HTMLWords.count(first.index &- next, "frame")) left out"))
            }
            next = (run.last?.index ?? next) &+ 1
            guard run[0].isUserCode else {
                library += run
                continue
            }
            endLibrary()
            guard run.count > longestRun, let last = run.last else {
                pieces += run.map(StackPiece.frame)
                continue
            }
            // A recursion is told by its head, its length and its tail.
            pieces += run.prefix(2).map(StackPiece.frame)
            pieces.append(.gap("… \(HTMLWords.count(run.count - 3)) more calls of the same"))
            pieces.append(.frame(last))
        }
        endLibrary()
        if thread.framesTruncated { pieces.append(.gap("The walk ended before the end of the stack.")) }
        return pieces
    }

    /// Runs of calls of the same function, out of the frames at both ends.
    private static func runs(of frames: [CrashReport.Frame], mostFrames: Int) -> [[CrashReport.Frame]] {
        let kept =
            frames.count > mostFrames ? frames.prefix(mostFrames / 2) + frames.suffix(mostFrames / 2) : frames[...]
        var runs: [[CrashReport.Frame]] = []
        for frame in kept {
            if let last = runs.last?.last, last.function == frame.function, frame.function != nil,
                last.isUserCode == frame.isUserCode, frame.index == last.index &+ 1
            {
                runs[runs.count - 1].append(frame)
            } else {
                runs.append([frame])
            }
        }
        return runs
    }
}
