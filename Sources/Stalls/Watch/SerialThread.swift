internal import CrashCapture
internal import LinuxSystem
package import SystemPackage

/// A thread that calls closures one after the other, so that blocking user code does not block the watcher.
package final class SerialThread: @unchecked Sendable {
    private let name: String
    private let monitor = Monitor()
    // Protected by `monitor`.
    private var queue: [@Sendable () -> Void] = []
    private var isStarted = false

    /// Makes a thread that does not run yet.
    package init(name: String) { self.name = name }

    /// Starts the thread unless it is running; it runs until the process ends.
    package func start() throws(Errno) {
        monitor.lock()
        defer { monitor.unlock() }
        guard !isStarted else { return }
        try DetachedThread.start(name: name) { self.run() }
        isStarted = true
    }

    /// Calls a closure after all earlier ones.
    package func perform(_ body: @escaping @Sendable () -> Void) {
        monitor.lock()
        queue.append(body)
        monitor.signal()
        monitor.unlock()
    }

    private func run() -> Never {
        while true {
            monitor.lock()
            DetachedThread.rest { while queue.isEmpty { _ = monitor.wait(before: .max) } }
            let body = queue.removeFirst()
            monitor.unlock()
            body()
        }
    }
}
