internal import LinuxSystem
internal import SystemPackage

/// The names in the folder of the reports.
struct FolderListing {
    /// A file that is named like a report.
    struct File {
        var id: PackedID
        /// As the folder has it, without a look at the file.
        var inode: UInt64
    }

    /// Files that are named like reports, the oldest first.
    var files: [File] = []
    /// Names that end like those of reports, but are none.
    var wrongNames: [String] = []
    /// Names of files that are being written, or were.
    var temporaries: [String] = []
    /// Other names.
    var others: [String] = []

    /// What a report's file is called after its 32 digits.
    private static let suffix = Array(".json".utf8)
    private static let temporarySuffix = Array(".tmp".utf8)

    init(_ folder: borrowing FileDirectory) throws(Errno) {
        var listing = ([File](), [String](), [String](), [String]())
        try folder.readEntries { name, inode in
            if name.count == ReportID.length + 5, name.suffix(5).elementsEqual(Self.suffix),
                let id = PackedID(digits: name.prefix(ReportID.length))
            {
                listing.0.append(File(id: id, inode: inode))
            } else if name.first == UInt8(ascii: ".") {
                if name.suffix(4).elementsEqual(Self.temporarySuffix) {
                    listing.2.append(String(decoding: name, as: UTF8.self))
                } else if name.count > 2 || name.contains(where: { $0 != UInt8(ascii: ".") }) {
                    listing.3.append(String(decoding: name, as: UTF8.self))
                }
            } else if name.suffix(5).elementsEqual(Self.suffix) {
                listing.1.append(String(decoding: name, as: UTF8.self))
            } else {
                listing.3.append(String(decoding: name, as: UTF8.self))
            }
        }
        files = listing.0.sorted { $0.id < $1.id }
        wrongNames = listing.1.sorted()
        temporaries = listing.2.sorted()
        others = listing.3.sorted()
    }
}
