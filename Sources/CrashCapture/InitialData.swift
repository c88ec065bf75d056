internal import CCrashCapture
internal import SystemPackage

/// What the executable's writable segments held when the process began: its file still does.
///
/// Constants are in them, too, where the linker puts them there (seen: gold has `.rodata` behind `.got.plt`).
/// Used on the crash thread.
final class InitialData {
    private let segments: [HFDataSegment]
    /// Whether all writable segments are known.
    let isComplete: Bool
    /// The file that runs, whatever has taken its place since; nil if it was not needed yet, or cannot be had.
    private var file: FileDescriptor?

    /// Names an image; no file is opened yet.
    init(of image: HFLoadedImage) {
        let all = [image.data.0, image.data.1, image.data.2, image.data.3]
        segments = all.prefix(Int(image.data_count)).filter { $0.start < $0.end }
        isComplete = image.data_count > 0 && image.data_omitted == 0
    }

    /// Where the segments lie.
    var ranges: [Range<UInt64>] { segments.map { $0.start..<$0.end } }

    /// Whether a word that is not zero was there from the beginning: then it is no lock, which begins as zero.
    func holds(_ word: UInt32, at address: UInt64) -> Bool {
        guard word != 0, let segment = segments.first(where: { $0.start <= address && address < $0.end }),
            address - segment.start + 4 <= segment.file_size, let file = openedFile()
        else {
            return false
        }
        var initial: UInt32 = 0
        let offset = Int64(segment.file_offset + address - segment.start)
        let count = unsafe withUnsafeMutableBytes(of: &initial) { bytes in
            unsafe try? file.read(fromAbsoluteOffset: offset, into: bytes)
        }
        return count == 4 && initial == word
    }

    private func openedFile() -> FileDescriptor? {
        // By another name it may be another file.
        if file == nil, hf_program_without_interpreter() == 0 {
            file = unsafe try? FileDescriptor.open("/proc/self/exe", .readOnly, options: .closeOnExec)
        }
        return file
    }

    deinit {
        try? file?.close()
    }
}
