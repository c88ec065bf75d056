/// The table of an image's functions that the linker makes for exceptions: `.eh_frame_hdr` (Linux Standard Base, "The .eh_frame_hdr
/// section").
///
/// It has four bytes of encodings, the address of `.eh_frame`, and the number of entries; then the entries in order, each the start of a
/// function and the place of its description, relative to the table. Even a file without symbols has it. The `load` closures return the
/// eight bytes at an address, or nil. Nothing is allocated, for the crash thread.
package struct FunctionTable {
    /// The address of its header.
    package let address: UInt64
    /// How many functions it has.
    package let count: UInt64

    /// The address of its entries.
    package var entries: UInt64 { address &+ 12 }

    /// Reads the header; nil if there is none, or one that no linker writes.
    package init?(at address: UInt64, _ load: (UInt64) -> UInt64?) {
        // Version 1, and the encodings: of the pointer to `.eh_frame` (not needed here), of the count (udata4), and of the table (sdata4,
        // data-relative).
        guard address != 0, let encodings = load(address), encodings & 0xff == 1, encodings >> 16 & 0xffff == 0x3b03,
            let counts = load(address &+ 8), counts & 0xffff_ffff > 0
        else { return nil }
        self.address = address
        count = counts & 0xffff_ffff
    }

    /// The start of a function.
    package func start(_ index: UInt64, _ load: (UInt64) -> UInt64?) -> UInt64? {
        load(entries &+ 8 &* index).map { address &+ Self.offset($0) }
    }

    /// The address of the description of the last function that begins at or before an address.
    package func description(for wanted: UInt64, _ load: (UInt64) -> UInt64?) -> UInt64? {
        let offset = Int64(bitPattern: wanted &- address)
        var (low, high) = (UInt64(0), count)
        while low < high {
            let middle = (low + high) / 2
            guard let entry = load(entries &+ 8 &* middle) else { return nil }
            if Int64(bitPattern: Self.offset(entry)) <= offset { low = middle + 1 } else { high = middle }
        }
        guard low > 0, let entry = load(entries &+ 8 &* (low - 1)) else { return nil }
        return address &+ Self.offset(entry >> 32)
    }

    /// The lower half, with its sign.
    private static func offset(_ entry: UInt64) -> UInt64 {
        UInt64(bitPattern: Int64(Int32(truncatingIfNeeded: entry)))
    }
}
