extension CrashReport {
    /// What went wrong.
    public struct Fault: Codable, Sendable, Hashable {
        /// Which fault of its process it was, counted from 1.
        public var number: Int
        /// The signal.
        public var signal: NumberedName
        /// The `si_code` of the signal: its cause.
        public var code: NumberedName
        /// The address that was accessed or executed, if the signal has one.
        public var address: HexAddress?
        /// What the access was for.
        public var access: CrashReport.Word
        /// What lies at the address, if that is known.
        public var addressKind: CrashReport.Word?
        /// What is mapped at the address or next to it, if that was looked at.
        package var mapping: Mapping?
        /// What the runtime said: the text of a fatal error or of an abort, if there was one.
        public var message: String?
        /// Who sent the signal, if it was sent rather than raised by the kernel.
        public var sender: Sender?
        /// The C++ exception that nobody caught, if that was the fault.
        public var exception: Exception?
        /// How long the callout might run, in seconds, if nothing faulted but it was interrupted for that; else nil.
        public var deadlineSeconds: Double?
        /// The bytes at the program counter, if they could be read.
        package var instructions: CrashReport.MemoryBytes?
        /// Other memory, where the process asked for it: none by default, for it may hold secrets.
        package var memory: [CrashReport.MemoryBytes]?
    }
}

extension CrashReport.Fault {
    /// A number of the system and its name.
    public struct NumberedName: Codable, Sendable, Hashable {
        /// The number.
        public var number: Int
        /// The name, such as `SIGSEGV`; the number again where it has none.
        public var name: String

        /// Names a signal.
        ///
        /// - Parameter number: The number of the signal.
        /// - Returns: The number with its name.
        package static func signal(_ number: Int) -> NumberedName {
            NumberedName(number: number, name: SignalNames.signal(number))
        }

        /// Names the cause of a signal.
        ///
        /// - Parameters:
        ///   - number: The `si_code`.
        ///   - signal: The number of the signal, on which the meaning of positive codes depends.
        /// - Returns: The number with its name.
        package static func code(_ number: Int, ofSignal signal: Int) -> NumberedName {
            NumberedName(number: number, name: SignalNames.code(number, ofSignal: signal))
        }
    }

    /// The process that sent a signal.
    public struct Sender: Codable, Sendable, Hashable {
        /// Its process identifier.
        public var pid: Int
        /// The user it belongs to.
        public var uid: Int
        /// Its name, as in `/proc/PID/comm`, if it was still there to be asked.
        public var name: String?
    }

    package typealias Access = CrashReport.Word
    package typealias AddressKind = CrashReport.Word

    /// A C++ exception that nobody caught.
    public struct Exception: Codable, Sendable, Hashable {
        /// Its type, demangled, such as `std::out_of_range`.
        public var type: String
        /// What it says of itself, if it says anything.
        public var message: String?
        /// The type, and what the exception says of itself after it.
        package var text: String { message.map { "\(type): \($0)" } ?? type }
    }

    /// A piece of the address space: what a fault's address lies in, or next to.
    package struct Mapping: Codable, Sendable, Hashable {
        /// Where the address is.
        package var place: CrashReport.Word
        /// How many bytes from the start of the mapping if it is inside, else how far away; the byte behind the end is 0 bytes past it.
        package var distance: Int
        /// The path of the file that is mapped, or what `/proc/PID/maps` has in its place, such as `[heap]`; empty for memory
        /// of no name.
        package var name: String
        /// The address of the first byte.
        package var start: HexAddress
        /// The address after the last byte.
        package var end: HexAddress
        /// What may be done with it, as in `/proc/PID/maps`, such as `rw-p`.
        package var permissions: String
    }
}

extension CrashReport.Fault.Exception {
    /// Takes the texts of a record; nil where both are empty.
    init?(type: String, message: String) {
        guard !type.isEmpty || !message.isEmpty else { return nil }
        self.type = type.isEmpty ? "of an unknown type" : type
        self.message = message.isEmpty ? nil : message
    }
}

extension CrashReport.Fault.Mapping {
    package typealias Place = CrashReport.Word

    /// What it is, such as `the writable data of /usr/lib/x.so`.
    var words: String {
        let part: String
        switch name {
        case "": return permissions.hasPrefix("---") ? "memory that is kept free" : "memory of no name"
        case "[heap]": return "the heap"
        case "[stack]": return "the main thread's stack"
        case _ where name.hasPrefix("["): return name
        case _ where permissions.contains("x"): part = "the code of "
        case _ where permissions.contains("w"): part = "the writable data of "
        case _ where permissions.hasPrefix("r"): part = "the read-only data of "
        default: part = "a reserved part of "
        }
        return part + name
    }

    /// Where the address is, such as `16 bytes past the end of the heap`.
    var sentence: String {
        switch place {
        case .inside: "in \(words)"
        case .after: distance == 0 ? "at the end of \(words)" : "\(distance) bytes past the end of \(words)"
        case .before: "\(distance) bytes before the start of \(words)"
        default: "near \(words)"
        }
    }
}

extension CrashReport {
    /// A piece of memory, as it was at the fault.
    package struct MemoryBytes: Codable, Sendable, Hashable {
        /// The address of the first byte.
        package var address: HexAddress
        /// The bytes as hexadecimal digits, two each.
        package var bytes: String
        /// Why it was taken, such as `code`, `stack` or the name of a register.
        package var about: String
    }
}
