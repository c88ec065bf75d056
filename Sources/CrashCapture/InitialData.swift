internal import CCrashCapture
internal import SystemPackage

/// What the executable's writable segment held when the process began: its file still does.
///
/// Constants are in it, too, where the linker puts them there (seen: gold has `.rodata` behind `.got.plt`).
/// Used on the crash thread.
final class InitialData {
    /// Where the segment lies; empty if there is none.
    let range: Range<UInt64>
    private let fileOffset: UInt64
    private let fileSize: UInt64
    /// The file that runs, whatever has taken its place since; nil if it cannot be had.
    private var file: FileDescriptor?

    /// Names an image; no file is opened yet.
    init(of image: HFLoadedImage) {
        range = image.data.0 < image.data.1 ? image.data.0..<image.data.1 : 0..<0
        fileOffset = image.data_offset
        fileSize = image.data_file_size
    }

    /// Whether a word that is not zero was there from the beginning: then it is no lock, which begins as zero.
    func holds(_ word: UInt32, at address: UInt64) -> Bool {
        guard word != 0, range.contains(address), address - range.lowerBound + 4 <= fileSize,
            let file = openedFile()
        else {
            return false
        }
        var initial: UInt32 = 0
        let offset = Int64(fileOffset + address - range.lowerBound)
        let count = unsafe withUnsafeMutableBytes(of: &initial) { bytes in
            unsafe try? file.read(fromAbsoluteOffset: offset, into: bytes)
        }
        return count == 4 && initial == word
    }

    private func openedFile() -> FileDescriptor? {
        if file == nil { file = unsafe try? FileDescriptor.open("/proc/self/exe", .readOnly, options: .closeOnExec) }
        return file
    }

    deinit {
        try? file?.close()
    }
}
