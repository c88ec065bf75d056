import Glibc

/// Waits for files that are put into a folder under their name at once (inotify(7)).
struct FolderWatch: ~Copyable {
    private let descriptor: CInt

    /// Begins to watch; nil if the folder is not there.
    init?(_ folder: String) {
        descriptor = inotify_init1(CInt(IN_CLOEXEC))
        guard unsafe inotify_add_watch(descriptor, folder, UInt32(IN_MOVED_TO)) >= 0 else {
            close(descriptor)
            return nil
        }
    }

    deinit { close(descriptor) }

    /// Waits until a name with this end is there; false if none is in ten seconds.
    func await(suffix: String) -> Bool {
        let end = now() + 10e9
        while now() < end {
            var event = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&event, 1, 1000) > 0 else { continue }
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = unsafe read(descriptor, &bytes, bytes.count)
            // One string of all events: their names are what is printable.
            guard count > 0 else { return false }
            if String(decoding: bytes.prefix(count), as: UTF8.self).contains(suffix) { return true }
        }
        return false
    }
}
