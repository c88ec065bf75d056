internal import CCrashCapture

extension CrashCapture {
    /// The bytes of what was kept of a fault, for the report writer.
    ///
    /// - Parameter fault: The number of the fault.
    /// - Returns: The bytes; nil if nothing was kept.
    public func contextBytes(ofFault fault: Int) -> [UInt8]? {
        guard let number = UInt32(exactly: fault), number > 0 else { return nil }
        let size = hf_context_snapshot_size()
        var isKept = false
        let bytes = unsafe [UInt8](unsafeUninitializedCapacity: size) { buffer, count in
            guard let start = buffer.baseAddress else { return }
            isKept = unsafe hf_context_copy_snapshot(number, start)
            count = isKept ? size : 0
        }
        return isKept ? bytes : nil
    }

    /// Puts the control group of this process into records of faults from now on; the rest comes with `describeContainer()`.
    public func describe(controlGroup: String) {
        var container = ContainerDescription()
        container.controlGroup = controlGroup
        describe(container)
    }

    /// Looks for the container and the control group of this process, for records of faults from now on.
    ///
    /// Reads some files: call it once, where nobody waits.
    public func describeContainer() {
        describe(ContainerProbe().probe())
    }

    private func describe(_ container: ContainerDescription) {
        unsafe container.runtime.withCString { runtime in
            unsafe container.id.withCString { id in
                unsafe container.controlGroup.withCString { group in
                    var description = unsafe HFContainer(
                        runtime: runtime,
                        identifier: id,
                        control_group: group,
                        memory_limit: container.memoryLimit,
                        processor_limit: container.processorLimit
                    )
                    unsafe hf_context_describe_container(&description)
                }
            }
        }
    }
}
