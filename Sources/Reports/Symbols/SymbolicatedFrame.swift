/// What is known of one function that was active at an address: the physical one, or one inlined into it.
package struct SymbolicatedFrame: Sendable, Equatable {
    /// The function's name for readers, demangled as briefly as a stack is read.
    package var function: String?

    /// The function's name for linkers.
    package var rawName: String?

    /// Bytes from the start of the physical function to the address as it was given; nil for inlined functions.
    package var functionOffset: UInt64?

    /// The source file, as the compiler recorded it.
    package var file: String?

    /// The line in the file, from 1.
    package var line: Int?

    /// The column in the line, from 1.
    package var column: Int?

    /// Whether the function was inlined into the one of the next frame.
    package var inlined: Bool

    /// Whether the frame is the compiler's note of why it trapped, which is then the function's name.
    package var isRuntimeFailure: Bool

    /// Whether the function is glue of the compiler that only calls another one.
    package var isThunk: Bool
    /// Whether it is data that was jumped into, and no function.
    package var isData = false

    /// Creates a frame; the notes on runtime failures and thunks come from the name.
    ///
    /// - Parameters:
    ///   - rawName: The function's name for linkers.
    ///   - functionOffset: Bytes from the start of the function, for a physical one.
    ///   - location: Where in the source the frame is.
    ///   - inlined: Whether the function was inlined into the one of the next frame.
    init(
        rawName: String?,
        functionOffset: UInt64? = nil,
        location: SourceLocation = .unknown,
        inlined: Bool = false
    ) {
        self.function = rawName.map(Demangler.brief)
        self.rawName = rawName
        self.functionOffset = functionOffset
        self.file = location.file
        self.line = location.line
        self.column = location.column
        self.inlined = inlined
        self.isRuntimeFailure = rawName?.hasPrefix(Self.runtimeFailurePrefix) ?? false
        self.isThunk = rawName.map(Demangler.isThunk) ?? false
    }
}

extension SymbolicatedFrame {
    /// The compiler marks a check of its own by an inlined function of this name.
    package static let runtimeFailurePrefix = "Swift runtime failure: "

    /// An address of which nothing is known.
    package static let unknown = SymbolicatedFrame(rawName: nil)

    /// What a signal handler returns to, as the C library calls it.
    static let signalReturn = SymbolicatedFrame(rawName: "__restore_rt", functionOffset: 0)
}

/// A place in the source; zero lines and columns, the compiler's way to say none, are nil.
struct SourceLocation: Equatable {
    var file: String?
    var line: Int?
    var column: Int?

    static let unknown = SourceLocation(file: nil, line: 0, column: 0)

    init(file: String?, line: Int, column: Int) {
        let isReal = file.map { !$0.hasSuffix("<compiler-generated>") && !$0.hasSuffix("/<stdin>") } ?? false
        // A file alone is no place.
        self.line = isReal && line > 0 ? line : nil
        self.file = self.line == nil ? nil : file
        self.column = self.line != nil && column > 0 ? column : nil
    }
}
