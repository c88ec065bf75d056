internal import Glibc
internal import LinuxSystem

/// A descriptor that is kept so that one is free later.
///
/// For use from one thread at a time.
final class SpareDescriptor: @unchecked Sendable {
    private var descriptor = unsafe open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    private let identity: FileIdentity?

    init() { identity = try? FileIdentity(of: descriptor) }

    deinit { free() }

    /// Closes it, unless somebody has: then it may be theirs by now.
    func free() {
        if let identity, (try? FileIdentity(of: descriptor)) == identity { close(descriptor) }
        descriptor = -1
    }
}
