import Glibc

/// Texts as C takes them, such as the arguments of execve(2).
@safe
package struct CTexts: ~Copyable {
    /// The texts; the last pointer is null.
    package let pointers: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>
    private let count: Int

    /// Copies texts, with the bytes of each that `ByteText` has read.
    package init(_ texts: [String]) {
        count = texts.count
        unsafe pointers = .allocate(capacity: texts.count + 1)
        for (index, text) in texts.enumerated() {
            let bytes = ByteText.bytes(of: text).map { CChar(bitPattern: $0) } + [0]
            unsafe (pointers + index).initialize(to: strdup(bytes))
        }
        unsafe (pointers + count).initialize(to: nil)
    }

    deinit {
        for index in 0..<count { unsafe free(pointers[index]) }
        unsafe pointers.deallocate()
    }

    /// Where the value of a variable is, if it is this one.
    ///
    /// - Parameters:
    ///   - key: The variable.
    ///   - value: The value.
    /// - Returns: Its first byte; nil if there is none.
    package func value(of key: String, if value: String) -> UnsafeMutablePointer<CChar>? {
        let wanted = "\(key)=\(value)"
        for index in 0..<count {
            guard let text = unsafe pointers[index], unsafe strcmp(text, wanted) == 0 else { continue }
            return unsafe text + key.utf8.count + 1
        }
        return nil
    }
}
