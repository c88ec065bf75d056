/// The registers of a record, by architecture, in the order of its list.
package enum RegisterNames {
    /// The names in the order of the list.
    ///
    /// - Parameter architecture: The machine, as uname(2) names it.
    /// - Returns: The names; those of x86-64 for an architecture that is not known.
    package static func of(_ architecture: String) -> [String] {
        architecture == "aarch64" ? aarch64 : x86
    }

    /// The kernel's gregset_t (sys/ucontext.h).
    private static let x86 = [
        "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp",
        "rip", "eflags", "csgsfs", "err", "trapno", "oldmask", "cr2",
    ]

    private static let aarch64 = (0...28).map { "x\($0)" } + ["fp", "lr", "sp", "pc", "cpsr", "far"]

    /// The name of the program counter.
    package static func programCounter(_ architecture: String) -> String {
        architecture == "aarch64" ? "pc" : "rip"
    }

    /// The name of the stack pointer.
    package static func stackPointer(_ architecture: String) -> String {
        architecture == "aarch64" ? "sp" : "rsp"
    }

    /// The name of the frame pointer.
    package static func framePointer(_ architecture: String) -> String {
        architecture == "aarch64" ? "fp" : "rbp"
    }
}

/// The machine that this code was built for.
package enum OwnArchitecture {
    #if arch(arm64)
    /// Its name, as uname(2) has it.
    package static let name = "aarch64"
    #else
    /// Its name, as uname(2) has it.
    package static let name = "x86_64"
    #endif
}
