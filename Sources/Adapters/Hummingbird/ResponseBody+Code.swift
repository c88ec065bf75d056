#if Hummingbird
internal import HummingbirdCore
internal import NIOCore

extension ResponseBody {
    /// Whether it is written by code, which may fault, rather than from memory.
    ///
    /// Hummingbird does not say so, but the cases of what a body consists of have names at run time (ResponseBody.swift, `_backing`). Where
    /// that is not so any more, the answer is yes.
    var isCode: Bool { Self.backing.map { caseName(at: $0) == "closure" } ?? true }

    /// The type of what a body consists of, if it is as expected.
    private static let backing: UInt? = {
        guard let sample = Mirror(reflecting: ResponseBody()).children.first?.value else { return nil }
        let type = unsafe unsafeBitCast(Swift.type(of: sample) as Any.Type, to: UInt.self)
        let expected = [
            ("empty", ResponseBody()), ("byteBuffer", ResponseBody(byteBuffer: ByteBuffer(string: "a"))),
            ("closure", ResponseBody(contentLength: 1) { _ in }),
        ]
        return expected.allSatisfy { $1.caseName(at: type) == $0 } ? type : nil
    }()

    private func caseName(at type: UInt) -> String? {
        unsafe withUnsafePointer(to: self) { place in
            guard let type = unsafe UnsafeRawPointer(bitPattern: type), let name = unsafe enumCaseName(place, type)
            else { return nil }
            // Short enough to take no memory.
            return unsafe String(cString: name)
        }
    }
}

/// Of the runtime: what `Mirror` shows as the label of an enum's case, by its address and its type
/// (swift/stdlib/public/runtime/ReflectionMirror.cpp).
@_silgen_name("swift_EnumCaseName")
private func enumCaseName(_ value: UnsafeRawPointer, _ type: UnsafeRawPointer) -> UnsafePointer<CChar>?
#endif
