internal import CrashReports

/// The images, for whoever has their debug information.
extension SentryEvent {
    /// Images with a build identifier: Sentry knows an image by it, and refuses one without.
    var images: [JSONValue] {
        let used = Set(report.threads.flatMap(\.frames).compactMap { report.image(of: $0)?.base })
        let known = report.images.filter { $0.identifierBytes != nil }
        // Those that have frames first, in case there is no room for all.
        let ordered = known.filter { used.contains($0.base) } + known.filter { !used.contains($0.base) }
        return ordered.prefix(detail.images).map(image)
    }

    private func image(_ image: CrashReport.Image) -> JSONValue {
        .members([
            "type": "elf",
            "image_addr": .string(image.base.description),
            "image_size": .integer(Int(clamping: image.size)),
            "debug_id": JSONValue(image.identifierBytes.map(Self.debugID)),
            "code_id": JSONValue(image.buildID?.lowercased()),
            "code_file": .string(text(image.path)),
            "arch": .string(report.host.architecture),
        ])
    }

    /// The first 16 bytes of the build identifier as a little-endian UUID: the bytes of its first three fields turned.
    static func debugID(_ bytes: [UInt8]) -> String {
        let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15]
        var text = ""
        for (place, index) in order.enumerated() {
            if [4, 6, 8, 10].contains(place) { text += "-" }
            let digits = String(bytes[index], radix: 16)
            text += digits.count < 2 ? "0\(digits)" : digits
        }
        return text
    }
}
