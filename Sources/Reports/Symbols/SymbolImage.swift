/// An executable or library that was mapped into the process that an address comes from.
package struct SymbolImage: Sendable, Hashable {
    /// Where the file was when it was mapped.
    package var path: String

    /// The address of the image's first mapped byte: the start of its first loadable segment's first page.
    ///
    /// For position-independent images that is the load bias; for others it is the linked address.
    package var base: UInt64

    /// One past the image's last mapped byte.
    package var end: UInt64

    /// The build id in hexadecimal, or nil when it is not known; then the file at the path is taken as it is.
    package var buildID: String?

    /// Creates the description of a mapped image.
    ///
    /// - Parameters:
    ///   - path: Where the file was when it was mapped.
    ///   - base: The address of the image's first mapped byte.
    ///   - end: One past the image's last mapped byte.
    ///   - buildID: The build id in hexadecimal, if known.
    package init(path: String, base: UInt64, end: UInt64, buildID: String?) {
        self.path = path
        self.base = base
        self.end = end
        self.buildID = buildID
    }

    package func contains(_ address: UInt64) -> Bool {
        base <= address && address < end
    }
}
