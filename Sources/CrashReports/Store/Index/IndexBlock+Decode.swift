/// Why an index is not used.
enum IndexDamage: Error {
    /// It is not of this form, or of another version.
    case wrongForm
    /// It is of this form and damaged.
    case damaged
}

/// A block of an index, checked, whose entries are made on demand.
struct DecodedBlock {
    let tally: StoreTally
    let place: StorePlace
    let entryCount: Int
    /// Where the block ends in the file.
    let end: Int
    private let texts: [String]
    private let tags: [UInt32: [String: String]]
    private let firstEntry: Int

    /// Reads the block that begins at a place of the file.
    ///
    /// - Throws: `IndexDamage`; any bytes may be there.
    init(_ file: UnsafeRawBufferPointer, at start: Int) throws(IndexDamage) {
        let left = file.count - start
        guard left >= IndexBlock.headerSize + IndexBlock.footerSize else { throw .damaged }
        guard unsafe file.number(at: start) == IndexBlock.magic else { throw .wrongForm }
        let size = unsafe file.number(at: start + 8)
        guard size <= UInt64(left), size % 8 == 0,
            size >= UInt64(IndexBlock.headerSize + IndexBlock.footerSize)
        else { throw .damaged }
        end = start + Int(size)
        let bodyEnd = end - IndexBlock.footerSize
        let sum = unsafe Checksum.of(UnsafeRawBufferPointer(rebasing: file[(start + 24)..<bodyEnd]))
        guard unsafe file.number(at: start + 16) == sum else { throw .damaged }
        let textCount = unsafe Int(file.shortNumber(at: start + 24))
        entryCount = unsafe Int(file.shortNumber(at: start + 28))
        tally = unsafe StoreTally(header: file, at: start)
        place = unsafe StorePlace(
            device: file.number(at: start + 56),
            inode: file.number(at: start + 64),
            start: (file.number(at: start + 72), file.number(at: start + 80))
        )
        let textBytes = unsafe file.number(at: start + 88)
        // Counts of 32 bits: none of these sums overflows.
        let textStart = start + IndexBlock.headerSize + (4 * textCount + 7) / 8 * 8
        guard textBytes <= size, textStart <= bodyEnd else { throw .damaged }
        firstEntry = textStart + (Int(textBytes) + 7) / 8 * 8
        guard firstEntry <= bodyEnd, entryCount * IndexBlock.entrySize == bodyEnd - firstEntry else { throw .damaged }

        var texts: [String] = []
        texts.reserveCapacity(textCount)
        var offset = textStart
        for number in 0..<textCount {
            let count = unsafe Int(file.shortNumber(at: start + IndexBlock.headerSize + 4 * number))
            guard count <= textStart + Int(textBytes) - offset else { throw .damaged }
            let bytes = unsafe UnsafeRawBufferPointer(rebasing: file[offset..<(offset + count)])
            guard let text = unsafe String(validating: bytes, as: UTF8.self) else { throw .damaged }
            texts.append(text)
            offset += count
        }
        self.texts = texts

        var tags: [UInt32: [String: String]] = [:]
        for index in 0..<entryCount {
            let entry = firstEntry + index * IndexBlock.entrySize
            for field in 0..<10 {
                let number = unsafe file.shortNumber(at: entry + 80 + 4 * field)
                guard number < textCount || (field >= 8 && number == IndexBlock.noText) else { throw .damaged }
            }
            guard unsafe file.shortNumber(at: entry + 128) < textCount else { throw .damaged }
            let number = unsafe file.shortNumber(at: entry + 116)
            if number != IndexBlock.noText, tags[number] == nil {
                guard let split = TagText.split(texts[Int(number)]) else { throw .damaged }
                tags[number] = split
            }
        }
        self.tags = tags
    }

    /// The identifier of an entry.
    func id(_ file: UnsafeRawBufferPointer, _ index: Int) -> PackedID {
        let entry = firstEntry + index * IndexBlock.entrySize
        return unsafe PackedID(high: file.number(at: entry), low: file.number(at: entry + 8))
    }

    /// The file that an entry was made of.
    func mark(_ file: UnsafeRawBufferPointer, _ index: Int) -> FileMark {
        let entry = firstEntry + index * IndexBlock.entrySize
        return unsafe FileMark(
            inode: file.number(at: entry + 16),
            modified: file.signedNumber(at: entry + 24),
            size: file.signedNumber(at: entry + 32)
        )
    }

    /// An entry.
    func entry(_ file: UnsafeRawBufferPointer, _ index: Int) -> IndexEntry {
        let entry = firstEntry + index * IndexBlock.entrySize
        func text(_ field: Int) -> String {
            unsafe texts[Int(file.shortNumber(at: entry + 80 + 4 * field))]
        }
        let buildID = unsafe file.shortNumber(at: entry + 112)
        let length = unsafe file.number(at: entry + 120) >> 1
        return unsafe IndexEntry(
            id: id(file, index),
            file: mark(file, index),
            timestamp: Timestamp(microsecondsSinceEpoch: file.signedNumber(at: entry + 40)),
            first: Timestamp(microsecondsSinceEpoch: file.signedNumber(at: entry + 48)),
            last: Timestamp(microsecondsSinceEpoch: file.signedNumber(at: entry + 56)),
            started: Timestamp(microsecondsSinceEpoch: file.signedNumber(at: entry + 136)),
            count: Int(file.signedNumber(at: entry + 64)),
            pid: Int(file.signedNumber(at: entry + 72)),
            isQuarantined: file.number(at: entry + 120) & 1 != 0,
            longest: length == 0 ? nil : Int(clamping: length - 1),
            kind: text(0),
            process: text(1),
            host: texts[Int(file.shortNumber(at: entry + 128))],
            signal: text(2),
            reason: text(3),
            location: text(4),
            verdict: text(5),
            fingerprint: text(6),
            holdfast: text(7),
            buildID: buildID == IndexBlock.noText ? nil : texts[Int(buildID)],
            tags: tags[file.shortNumber(at: entry + 116)] ?? [:]
        )
    }
}

/// Numbers at places that the caller has checked.
extension UnsafeRawBufferPointer {
    func number(at offset: Int) -> UInt64 {
        unsafe UInt64(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt64.self))
    }

    func signedNumber(at offset: Int) -> Int64 {
        unsafe Int64(bitPattern: number(at: offset))
    }

    func shortNumber(at offset: Int) -> UInt32 {
        unsafe UInt32(littleEndian: loadUnaligned(fromByteOffset: offset, as: UInt32.self))
    }
}
