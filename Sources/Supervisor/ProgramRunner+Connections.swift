internal import Glibc

extension ProgramRunner {
    /// What the supervisor has to do with it.
    struct Connections {
        let environment: [String: String]
        let sockets: [ListeningSockets.Socket]
        /// What the program has given away.
        let kept: DescriptorStore
        let manager: ServiceManager
        /// The terminal to hand over; nil without one.
        let terminal: CInt?
        let state: StateFolder?
        let kernelLog: KernelLog
        let terminationLog: String?
        /// Called after each change of state.
        let changed: @MainActor (ProgramRunner) -> Void
        /// Called when it has ended and nobody had asked for that, before anything follows.
        let died: @MainActor (ProgramRunner) -> Void
    }
}
