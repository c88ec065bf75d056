package import Symbolication

/// Finishes reports whose frames have no names: of stripped executables, and of other machines.
///
/// Names come from files with the build ids that the report has, and from no others: an image without one is left as it is. What
/// a report has already stays unless more is known now.
///
/// Keeps what it read for the next report. For one thread at a time. Reads files: not for signal handlers.
package final class ReportSymbolicator {
    private let files: SymbolFiles

    /// Makes a symbolicator.
    ///
    /// - Parameter search: Where to look for files, beside the images' paths.
    package init(search: DebugFileSearch = .standard) {
        files = SymbolFiles(search, budget: .command)
    }

    /// Names the functions on the stacks of a report.
    ///
    /// Fingerprint, reason and diagnosis follow from the names of the thread that faulted, as if they had been known at once.
    ///
    /// - Parameter report: The report; may come from anywhere.
    /// - Returns: The report with what is known now, and what was found for its images.
    package func symbolicate(_ report: CrashReport) -> SymbolicatedReport {
        let symbolicator = Symbolicator(images: report.images.map(Self.verifiable), files: files)
        var result = report
        var changes = 0
        var used: Set<Int> = []
        func name(_ thread: inout CrashReport.Thread) {
            let chains = FrameChain.chains(of: thread.frames)
            let named = chains.map { chain in
                chain.named(by: symbolicator, images: report.images, &used) ?? chain
            }
            changes += zip(chains, named).count { $0 != $1 }
            thread.frames = FrameChain.frames(of: named)
        }
        name(&result.thread)
        for index in result.otherThreads.indices { name(&result.otherThreads[index]) }
        if let profile = report.stall?.profile {
            let naming = ProfileNaming(symbolicator, images: report.images)
            result.stall?.profile = naming.named(profile, &used, &changes)
        }
        if result != report { result.update(from: report) }
        let images = used.sorted().map { index -> SymbolicatedReport.Image in
            let image = report.images[index]
            let source = image.buildID == nil ? .unverifiable : symbolicator.source(ofImage: index) ?? .missing
            return SymbolicatedReport.Image(name: image.name, path: image.path, buildID: image.buildID, source: source)
        }
        return SymbolicatedReport(report: result, images: images, framesChanged: changes)
    }

    /// An image without a build id gets one that no file has: its path may lead to another file here.
    private static func verifiable(_ image: CrashReport.Image) -> SymbolImage {
        SymbolImage(path: image.path, base: image.base.rawValue, end: image.end.rawValue, buildID: image.buildID ?? "")
    }
}

/// A report with the names that could be found, and where they come from.
package struct SymbolicatedReport: Sendable {
    /// An image that the stacks lead through, and what was found for it.
    package struct Image: Sendable, Hashable {
        /// The last part of its path.
        package var name: String
        /// Where it was, on the machine that the report comes from.
        package var path: String
        /// Its build id, if it has one.
        package var buildID: String?
        /// What was found.
        package var source: ImageSymbolSource
    }

    /// The report.
    package var report: CrashReport
    /// The images that the stacks lead through, in the order of the report.
    package var images: [Image]
    /// How many addresses on the stacks say something else than before.
    package var framesChanged: Int
}

extension CrashReport {
    /// Brings what follows from the names of frames in line with them.
    fileprivate mutating func update(from old: CrashReport) {
        defer { explain() }
        // That of a stall says nothing of functions.
        guard fault != nil else { return }
        // Only a reason that the rule gives, too: a process that ended early has another.
        for isRuntimeMessage in [false, true]
        where reason == old.reasonText(old.runtimeFailure, isRuntimeMessage: isRuntimeMessage) {
            reason = old.reasonText(runtimeFailure, isRuntimeMessage: isRuntimeMessage)
            return
        }
    }

    private func reasonText(_ runtimeFailure: String?, isRuntimeMessage: Bool) -> String {
        guard let fault else { return reason }
        let reason = FaultReason(
            fault: fault,
            pid: process.pid,
            callout: loop?.callout,
            runtimeFailure: runtimeFailure,
            isRuntimeMessage: isRuntimeMessage,
            isPrivileged: fault.isOfPrivilegedInstruction(at: thread.frames.first?.address)
        )
        return reason.text
    }
}
