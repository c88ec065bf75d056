extension CrashReport {
    /// Where the fault happened: the innermost frame of user code, else the innermost frame.
    ///
    /// It reads `function (File.swift:12)`, with the image and the offset where the function is not known. Of a stall, it is the
    /// function of the program in which the thread was all the time.
    public var location: String {
        if let culprit = stall?.profile?.culprit { return culprit.location }
        let frames = thread.frames.filter { $0.runtimeFailure == nil }
        return (frames.first(where: \.isApplicationCode) ?? frames.first)?.location ?? "unknown"
    }

    /// What the runtime checked when the fault happened, such as `arithmetic overflow`, if debug information says so.
    public var runtimeFailure: String? {
        thread.frames.prefix { $0.inlined || $0.index == 0 }.lazy.compactMap(\.runtimeFailure).first
    }
}

extension CrashReport.Frame {
    /// The compiler marks a check of its own by an inlined function of this name.
    private static let runtimeFailurePrefix = "Swift runtime failure: "

    /// What the runtime checked here, such as `arithmetic overflow`, if the frame stands for a check.
    public var runtimeFailure: String? {
        guard let function, function.hasPrefix(Self.runtimeFailurePrefix) else { return nil }
        return String(function.dropFirst(Self.runtimeFailurePrefix.count))
    }

    /// Whether somebody wrote this function: user code, and not a check that the compiler put into it.
    public var isApplicationCode: Bool { isUserCode && runtimeFailure == nil }

    /// Where the frame is: `function (File.swift:12)`, else image and offset, else the address.
    public var location: String {
        guard let function else { return imageLocation ?? address.description }
        guard let source = sourceLocation else { return function }
        return "\(function) (\(source))"
    }

    /// The image and the offset in it, such as `libc.so.6+0x8ae3c`, if they are known.
    public var imageLocation: String? {
        guard let imageName else { return nil }
        guard let imageOffset else { return imageName }
        return "\(imageName)+\(imageOffset)"
    }

    /// The name of the source file and the line, such as `File.swift:12`, if they are known.
    public var sourceLocation: String? {
        guard let file, let name = file.split(separator: "/").last else { return nil }
        guard let line, line > 0 else { return String(name) }
        return "\(name):\(line)"
    }
}
