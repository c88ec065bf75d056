internal import CCrashCapture

/// What the crash thread has found of the process before its first verdict.
package struct ProcessView: Sendable {
    /// Whether stacks can be walked; if not, nothing is resumed.
    package let walksStacks: Bool
    /// Where the executable lies in memory; nil if no image could be listed.
    let executableAddresses: Range<UInt64>?
    /// The build identifier of the executable in memory; nil when it has none.
    let executableBuildID: [UInt8]?

    /// Takes the first image of the spool, which is the executable (dl_iterate_phdr(3)).
    init(_ spool: UnsafeMutablePointer<HFSpoolHeader>, walksStacks: Bool) {
        self.walksStacks = walksStacks
        guard unsafe spool.pointee.image_count > 0 else {
            executableAddresses = nil
            executableBuildID = nil
            return
        }
        var image = unsafe UnsafeRawPointer(spool).load(
            fromByteOffset: Int(spool.pointee.image_offset),
            as: HFImage.self
        )
        executableAddresses = image.base..<image.end
        executableBuildID =
            image.build_id_length > 0
            ? unsafe withUnsafeBytes(of: &image.build_id) { unsafe Array($0.prefix(Int(image.build_id_length))) } : nil
    }
}
