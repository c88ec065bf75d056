internal import Glibc
internal import LinuxSystem
internal import SystemPackage

/// The index of a store, in the folder of the reports: only a cache, which anybody may remove at any time.
///
/// It is there, and not beside the folder, because whoever can put a report into the folder can take a wrong index out of it.
enum IndexFile {
    static let name = ".index"
    static let temporaryName = ".index.tmp"
    /// A larger file is not read: some millions of reports.
    static let maximumSize: Int64 = 1 << 30

    /// Reads the index; one that is missing, somebody else's or unreadable knows nothing.
    static func load(in folder: borrowing FileDirectory) -> LoadedIndex {
        guard let file = try? folder.open(name), let status = try? FileStatus(of: file), isUsable(status),
            let bytes = try? file.contents(Int(status.size))
        else { return .empty }
        return LoadedIndex(bytes)
    }

    /// Puts another index in the place of the one that is there.
    ///
    /// The folder must be locked. Not synchronized: a cache that a crash of the system damages is made anew.
    static func replace(with bytes: [UInt8], in folder: borrowing FileDirectory) throws(Errno) {
        do {
            do { try folder.remove(temporaryName) } catch .noSuchFileOrDirectory {}
            let file = try folder.create(temporaryName)
            try file.writeAll(bytes)
            try folder.rename(temporaryName, to: name)
        } catch {
            try? folder.remove(temporaryName)
            throw error
        }
    }

    static func isUsable(_ status: FileStatus) -> Bool {
        status.kind == .regular && status.owner == geteuid() && status.size <= maximumSize
    }
}

/// An index that is open for one more entry.
///
/// The folder must be locked as long as there is one.
struct IndexAppender: ~Copyable {
    private let file: OwnedDescriptor
    private let size: Int64
    private let headSize: Int64
    /// What the last writer knew of the store.
    let tally: StoreTally

    /// Opens the index, and makes one that knows nothing if there is none, or none that can be used.
    init(in folder: borrowing FileDirectory) throws(Errno) {
        if let opened = try? Self.open(folder), let state = Self.state(of: opened) {
            (size, headSize, tally) = state
            file = opened
            return
        }
        do { try folder.remove(IndexFile.name) } catch .noSuchFileOrDirectory {}
        file = try Self.open(folder)
        (size, headSize, tally) = (0, 0, StoreTally())
    }

    private static func open(_ folder: borrowing FileDirectory) throws(Errno) -> OwnedDescriptor {
        try folder.openForAppending(IndexFile.name, creating: true)
    }

    /// The size of the file and of its first block, and the tally of its last: without reading what lies between.
    private static func state(of file: borrowing OwnedDescriptor) -> (Int64, Int64, StoreTally)? {
        guard let status = try? FileStatus(of: file), IndexFile.isUsable(status) else { return nil }
        guard status.size > 0 else { return (0, 0, StoreTally()) }
        guard let start = try? file.contents(16), let end = try? file.contents(16, at: status.size - 16),
            start.count == 16, end.count == 16
        else { return nil }
        let headSize = UInt64(littleEndianBytes: Array(start[8...]))
        let lastSize = UInt64(littleEndianBytes: Array(end[..<8]))
        guard UInt64(littleEndianBytes: Array(start[..<8])) == IndexBlock.magic, headSize <= UInt64(status.size),
            lastSize <= UInt64(status.size), lastSize >= UInt64(IndexBlock.headerSize + IndexBlock.footerSize),
            let header = try? file.contents(IndexBlock.headerSize, at: status.size - Int64(lastSize)),
            header.count == IndexBlock.headerSize, header[8..<16] == end[..<8], header[16..<24] == end[8...]
        else { return nil }
        let tally = unsafe header.withUnsafeBytes { unsafe StoreTally(header: $0, at: 0) }
        return (status.size, Int64(headSize), tally)
    }

    /// Whether so much was added that the index should be made anew from one piece.
    var isFragmented: Bool {
        let tail = size - headSize
        return tail > 1 << 16 && tail > headSize / 4
    }

    /// Adds an entry.
    ///
    /// An index that is not told of a report must not stay: it could take the new file for the old one, if that has the number of a
    /// file that was removed.
    consuming func append(
        _ entry: IndexEntry,
        tally: StoreTally,
        place: StorePlace,
        in folder: borrowing FileDirectory
    ) {
        do {
            try file.writeAll(IndexBlock(entries: [entry], tally: tally, place: place).bytes())
        } catch {
            try? folder.remove(IndexFile.name)
        }
    }
}

extension StoreTally {
    /// Takes the header of a block that begins at a place of the file.
    init(header file: UnsafeRawBufferPointer, at start: Int) {
        let reports = unsafe file.signedNumber(at: start + 32)
        self.init(
            reports: reports < 0 ? nil : Int(reports),
            bytes: unsafe max(0, Int(file.signedNumber(at: start + 40))),
            pruned: unsafe Timestamp(microsecondsSinceEpoch: file.signedNumber(at: start + 48))
        )
    }
}

extension StorePlace {
    /// What this run of the system is called, as two numbers; zeros if it does not say.
    private static let currentStart: (UInt64, UInt64) = {
        guard let file = try? OwnedDescriptor(reading: "/proc/sys/kernel/random/boot_id", followingLinks: false),
            let bytes = try? file.readAll(limit: 64),
            let id = PackedID(digits: bytes.filter { $0 != UInt8(ascii: "-") && $0 != UInt8(ascii: "\n") })
        else { return (0, 0) }
        return (id.high, id.low)
    }()

    /// The place of an open folder.
    init(_ folder: borrowing FileDirectory) throws(Errno) {
        let status = try FileStatus(of: folder.descriptor)
        self.init(device: status.device, inode: status.inode, start: Self.currentStart)
    }
}
