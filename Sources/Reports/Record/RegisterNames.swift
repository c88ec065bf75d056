/// The registers of x86-64 in a record, in the order of `gregset_t`.
package enum RegisterNames {
    static let all = [
        "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "rdi", "rsi", "rbp", "rbx", "rdx", "rax", "rcx", "rsp",
        "rip", "eflags", "csgsfs", "err", "trapno", "oldmask", "cr2",
    ]

    /// The order in which people are shown registers.
    private static let shown = [
        "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "rbp", "rsp", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15",
        "rip", "rflags", "eflags",
    ]

    /// The names of some registers in the order in which people are shown them; others follow, sorted.
    package static func sorted(_ names: some Sequence<String>) -> [String] {
        names.sorted { left, right in
            let places = [left, right].map { name in shown.firstIndex(of: name) ?? shown.count }
            return (places[0], left) < (places[1], right)
        }
    }
}
