internal import Symbolication

extension CrashReport.Frame {
    /// Makes the frame of what a symbolicator knows of an address.
    ///
    /// - Parameters:
    ///   - symbol: What is known.
    ///   - index: The place of the frame.
    ///   - address: The address.
    ///   - kind: What the address is.
    ///   - image: The place of its image in `images`, if it lies in one.
    ///   - images: The images of the report.
    init(
        _ symbol: SymbolicatedFrame,
        index: Int,
        address: HexAddress,
        kind: Kind,
        image: Int?,
        of images: [CrashReport.Image]
    ) {
        self.init(
            index: index,
            address: address,
            kind: kind,
            image: image,
            imageName: image.map { images[$0].name },
            imageOffset: image.map { HexAddress(address.rawValue &- images[$0].base.rawValue) },
            function: symbol.function,
            rawName: symbol.rawName,
            functionOffset: symbol.functionOffset.map { Int(clamping: $0) },
            file: symbol.file,
            line: symbol.line,
            column: symbol.column,
            inlined: symbol.inlined,
            isUserCode: image == 0 && UserCode.contains(symbol)
        )
    }
}
