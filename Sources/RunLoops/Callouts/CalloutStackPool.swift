import CRecoveryPoint

/// The callout stacks of one loop that are not in use.
///
/// Only the loop's thread touches it.
@safe
struct CalloutStackPool {
    /// More than the usual nesting of callouts; further stacks are given back to the kernel.
    private static var capacity: Int { 8 }

    /// The stack that was used last: its pages are in the cache.
    private var first: UnsafeMutablePointer<HFCalloutStack>?
    private var idle: [UnsafeMutablePointer<HFCalloutStack>] = unsafe []
    /// Whether a stack was lost to an abandoned callout since the last `replenish`.
    private(set) var isShort = false

    /// Takes a healthy stack or makes one; `nil` if there is no memory for one.
    @inline(__always)
    mutating func take(size: Int) -> UnsafeMutablePointer<HFCalloutStack>? {
        if let stack = unsafe first, unsafe Int(stack.pointee.high - stack.pointee.low) >= size {
            unsafe first = nil
            return unsafe stack
        }
        return unsafe takeIdle(size: size)
    }

    @inline(never)
    private mutating func takeIdle(size: Int) -> UnsafeMutablePointer<HFCalloutStack>? {
        while let stack = unsafe idle.popLast() {
            if unsafe Int(stack.pointee.high - stack.pointee.low) >= size { return unsafe stack }
            // It was made when the configured size was smaller.
            unsafe hf_callout_stack_destroy(stack)
        }
        return unsafe hf_callout_stack_create(size)
    }

    /// Takes back a stack on which a callout returned.
    @inline(__always)
    mutating func giveBack(_ stack: UnsafeMutablePointer<HFCalloutStack>) {
        if unsafe first == nil {
            unsafe first = stack
        } else if unsafe idle.count < Self.capacity {
            unsafe idle.append(stack)
        } else {
            unsafe hf_callout_stack_destroy(stack)
        }
    }

    /// Notes that a stack was abandoned.
    mutating func noteLoss() {
        isShort = true
    }

    /// Makes a spare stack, so that the next fault does not wait for the kernel.
    mutating func replenish(size: Int) {
        isShort = false
        hf_callout_stack_settle()
        guard unsafe idle.isEmpty, let stack = unsafe hf_callout_stack_create(size) else { return }
        unsafe hf_callout_stack_touch(stack)
        unsafe idle.append(stack)
    }

    /// Unmaps the stacks that are not in use.
    mutating func destroyAll() {
        if let stack = unsafe first {
            unsafe idle.append(stack)
            unsafe first = nil
        }
        while let stack = unsafe idle.popLast() {
            unsafe hf_callout_stack_destroy(stack)
        }
    }
}
