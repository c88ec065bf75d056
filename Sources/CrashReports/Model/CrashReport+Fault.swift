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
        public var access: Access
        /// What lies at the address, if that is known.
        public var addressKind: AddressKind?
        /// What is mapped at the address or next to it, if that was looked at.
        public var mapping: Mapping?
        /// What the runtime said: the text of a fatal error or of an abort, if there was one.
        public var message: String?
        /// What went wrong, in one plain line; see `FaultReason`.
        public var reason: String
        /// Who sent the signal, if it was sent rather than raised by the kernel.
        public var sender: Sender?
        /// The C++ exception that nobody caught, if that was the fault.
        public var exception: Exception?
        /// How long the callout might run, in seconds, if nothing faulted but it was interrupted for that; else nil.
        public var deadlineSeconds: Double?
        /// What is probably wrong, in plain words; nil if nobody looked.
        public var diagnosis: CrashReport.Diagnosis?
        /// The bytes at the program counter, if they could be read.
        public var instructions: CrashReport.MemoryBytes?
        /// Other memory, where the process asked for it: none by default, for it may hold secrets.
        public var memory: [CrashReport.MemoryBytes]?

        /// Makes the description of a fault.
        ///
        /// - Parameters:
        ///   - number: Which fault of its process it was, counted from 1.
        ///   - signal: The signal.
        ///   - code: The `si_code` of the signal: its cause.
        ///   - address: The address that was accessed or executed, if the signal has one.
        ///   - access: What the access was for.
        ///   - addressKind: What lies at the address, if that is known.
        ///   - mapping: What is mapped at the address or next to it, if that was looked at.
        ///   - message: What the runtime said: the text of a fatal error or of an abort, if there was one.
        ///   - reason: What went wrong, in one plain line; see `FaultReason`.
        ///   - sender: Who sent the signal, if it was sent rather than raised by the kernel.
        ///   - exception: The C++ exception that nobody caught, if that was the fault.
        ///   - deadlineSeconds: How long the callout might run, if it was interrupted for that.
        ///   - diagnosis: What is probably wrong, in plain words.
        ///   - instructions: The bytes at the program counter, if they could be read.
        ///   - memory: Other memory, where the process asked for it.
        public init(
            number: Int,
            signal: NumberedName,
            code: NumberedName,
            address: HexAddress? = nil,
            access: Access,
            addressKind: AddressKind? = nil,
            mapping: Mapping? = nil,
            message: String? = nil,
            reason: String,
            sender: Sender? = nil,
            exception: Exception? = nil,
            deadlineSeconds: Double? = nil,
            diagnosis: CrashReport.Diagnosis? = nil,
            instructions: CrashReport.MemoryBytes? = nil,
            memory: [CrashReport.MemoryBytes]? = nil
        ) {
            self.number = number
            self.signal = signal
            self.code = code
            self.address = address
            self.access = access
            self.addressKind = addressKind
            self.mapping = mapping
            self.message = message
            self.reason = reason
            self.sender = sender
            self.exception = exception
            self.deadlineSeconds = deadlineSeconds
            self.diagnosis = diagnosis
            self.instructions = instructions
            self.memory = memory
        }
    }
}

extension CrashReport.Fault {
    /// A number of the system and its name.
    public struct NumberedName: Codable, Sendable, Hashable {
        /// The number.
        public var number: Int
        /// The name, such as `SIGSEGV`; the number again where it has none.
        public var name: String

        /// Makes a pair of number and name.
        ///
        /// - Parameters:
        ///   - number: The number.
        ///   - name: The name, such as `SIGSEGV`; the number again where it has none.
        public init(number: Int, name: String) {
            self.number = number
            self.name = name
        }

        /// Names a signal.
        ///
        /// - Parameter number: The number of the signal.
        /// - Returns: The number with its name.
        public static func signal(_ number: Int) -> NumberedName {
            NumberedName(number: number, name: SignalNames.signal(number))
        }

        /// Names the cause of a signal.
        ///
        /// - Parameters:
        ///   - number: The `si_code`.
        ///   - signal: The number of the signal, on which the meaning of positive codes depends.
        /// - Returns: The number with its name.
        public static func code(_ number: Int, ofSignal signal: Int) -> NumberedName {
            NumberedName(number: number, name: SignalNames.code(number, ofSignal: signal))
        }
    }
}

extension CrashReport.Fault {
    /// The process that sent a signal.
    public struct Sender: Codable, Sendable, Hashable {
        /// Its process identifier.
        public var pid: Int
        /// The user it belongs to.
        public var uid: Int
        /// Its name, as in `/proc/PID/comm`, if it was still there to be asked.
        public var name: String?

        /// Makes the description of a sender.
        ///
        /// - Parameters:
        ///   - pid: Its process identifier.
        ///   - uid: The user it belongs to.
        ///   - name: Its name, if it is known; an empty one is none.
        public init(pid: Int, uid: Int, name: String? = nil) {
            self.pid = pid
            self.uid = uid
            self.name = name == "" ? nil : name
        }
    }
}
