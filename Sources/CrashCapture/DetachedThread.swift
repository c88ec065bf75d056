internal import CCrashCapture
internal import Glibc
public import SystemPackage

/// A thread that belongs to no pool and that nobody joins, with a guarded signal stack of its own.
public enum DetachedThread {
    private final class Body: Sendable {
        let name: String
        let run: @Sendable () -> Void

        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// Starts a thread.
    ///
    /// - Parameters:
    ///   - name: Its name, for reports; up to 15 bytes count.
    ///   - body: What it runs; the thread ends with it.
    /// - Throws: The error of pthread_create(3).
    public static func start(name: String, _ body: @escaping @Sendable () -> Void) throws(Errno) {
        var thread = pthread_t()
        let argument = unsafe Unmanaged.passRetained(Body(name: name, run: body)).toOpaque()
        let mask = hf_signal_block_for_service()
        defer { hf_signal_set_mask(mask) }
        let error = unsafe pthread_create(
            &thread,
            nil,
            { argument in
                guard let argument = unsafe argument else { return nil }
                let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
                unsafe hf_capture_name_thread(body.name)
                // Without one, an overflow of this thread's stack has no record: nothing else depends on it.
                _ = hf_capture_prepare_thread()
                body.run()
                return nil
            },
            argument
        )
        guard error == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(argument).release()
            throw Errno(rawValue: error)
        }
        pthread_detach(thread)
    }
}
