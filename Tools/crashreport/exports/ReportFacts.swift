internal import CrashReports

/// Facts about frames, images and identifiers that several formats need.
extension CrashReport {
    /// The image that a frame lies in, if the report has it: its index may be anything.
    func image(of frame: Frame) -> Image? {
        if let index = frame.image, images.indices.contains(index) { return images[index] }
        return images.first { $0.base <= frame.address && frame.address < $0.end }
    }

    /// The value of a tag, or else of an annotation.
    func tag(_ name: String) -> String? {
        let value = context?.tags[name] ?? context?.annotations[name]
        return value?.isEmpty == false ? value : nil
    }

    /// All threads, the one that faulted or stalled first.
    var threads: [Thread] { (hasThread ? [thread] : []) + otherThreads }

    /// Whether its first thread is one: what was pinged and did not answer has none that is known, and what has ended has none.
    var hasThread: Bool { kind != .death && (kind != .stall || thread.id != 0 || !thread.frames.isEmpty) }

    /// What happened, in a word: the name of the signal, else that of the kind, such as `Stall`.
    var faultName: String { fault?.signal.name ?? kind.rawValue.prefix(1).uppercased() + kind.rawValue.dropFirst() }
}

extension CrashReport.Stall {
    /// Where most of the time went, the outermost call first.
    func heaviestPlaces(atMost count: Int) -> [String] { (profile?.heaviestPath ?? []).suffix(count).map(\.location) }
}

extension CrashReport.Image {
    /// How many bytes of addresses the image takes.
    var size: UInt64 { end.rawValue >= base.rawValue ? end.rawValue - base.rawValue : 0 }

    /// The first 16 bytes of the build identifier, filled up with zeros: what takes the place of a UUID.
    var identifierBytes: [UInt8]? {
        buildID.flatMap { $0.isEmpty ? nil : $0.hexBytes }.map {
            Array($0.prefix(16)) + Array(repeating: 0, count: max(0, 16 - $0.count))
        }
    }
}

extension CrashReport.Frame {
    /// Where the function starts, if that is known.
    var functionAddress: HexAddress? {
        guard let functionOffset, let offset = UInt64(exactly: functionOffset), offset <= address.rawValue else {
            return nil
        }
        return HexAddress(address.rawValue - offset)
    }

    /// The frame on one line: function, offset, place in the source, and image.
    var oneLine: String {
        var text = function ?? imageLocation ?? address.description
        if function != nil, let functionOffset { text += " + \(functionOffset)" }
        if let sourcePlace { text += " at \(sourcePlace)" }
        if let imageName, function != nil { text += " in \(imageName)" }
        return inlined ? text + " [inlined]" : text
    }

    /// File, line and column, such as `Router.swift:88:40`, as far as they are known.
    var sourcePlace: String? {
        guard let source = sourceLocation else { return nil }
        guard let column, column > 0, let line, line > 0 else { return source }
        return "\(source):\(column)"
    }
}

extension [String: String] {
    /// The first of named values, by their names: the same report is the same document, and hostile ones have too many.
    func first(_ count: Int) -> ArraySlice<(key: String, value: String)> { sorted { $0.key < $1.key }.prefix(count) }
}

extension String {
    /// The text, cut to a number of characters.
    func limited(to count: Int) -> String {
        guard utf8.count > count, let end = index(startIndex, offsetBy: count, limitedBy: endIndex), end < endIndex
        else {
            return self
        }
        return self[..<end] + "…"
    }
}

/// Two digits for each byte.
func hexDigits(_ bytes: [UInt8]) -> String {
    bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
}
