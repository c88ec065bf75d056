internal import CCrashCapture

/// The images of the process, as a fixed table that needs no lock to read.
@safe struct LoadedImages: ~Copyable {
    private let spool: UnsafeMutablePointer<HFSpoolHeader>
    private let entries: UnsafeMutablePointer<HFLoadedImage>
    private let capacity: Int
    private(set) var count: Int

    /// Lists the images as they are now.
    init(spool: UnsafeMutablePointer<HFSpoolHeader>) {
        unsafe self.spool = unsafe spool
        capacity = unsafe Int(spool.pointee.image_capacity)
        unsafe entries = .allocate(capacity: capacity)
        unsafe entries.initialize(repeating: HFLoadedImage(), count: capacity)
        count = 0
        refresh()
    }

    deinit {
        unsafe entries.deallocate()
    }

    /// Lists the images again, for an address that lies in none: takes the loader's lock.
    mutating func refresh() {
        count = unsafe Int(hf_loaded_images_snapshot(spool, entries, UInt32(capacity)))
    }

    /// The image that an address lies in; valid until the next refresh.
    func image(at address: UInt64) -> UnsafePointer<HFLoadedImage>? {
        for index in 0..<count {
            let image = unsafe entries + index
            if unsafe address >= image.pointee.base && address < image.pointee.end {
                return unsafe UnsafePointer(image)
            }
        }
        return nil
    }

    /// Whether an address lies in the code of an image.
    func isCode(_ address: UInt64) -> Bool {
        guard let image = unsafe image(at: address) else { return false }
        return unsafe address >= image.pointee.code.0 && address < image.pointee.code.1
    }

    /// Whether `count` bytes at an address lie in a segment that is mapped for reading only, so that a load cannot fault.
    func isReadOnlyImageMemory(_ address: UInt64, count: UInt64) -> Bool {
        guard let image = unsafe image(at: address) else { return false }
        let segments = unsafe image.pointee.segments
        let count32 = unsafe image.pointee.segment_count
        return Self.contains(segments.0, address, count) && count32 > 0
            || Self.contains(segments.1, address, count) && count32 > 1
            || Self.contains(segments.2, address, count) && count32 > 2
            || Self.contains(segments.3, address, count) && count32 > 3
    }

    private static func contains(_ segment: (UInt64, UInt64), _ address: UInt64, _ count: UInt64) -> Bool {
        address >= segment.0 && address < segment.1 && segment.1 - address >= count
    }
}
