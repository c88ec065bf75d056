public import CrashCapture
internal import Glibc
public import SystemPackage

/// Descriptors that stay open across restarts in place, each with bytes of the program's.
extension EventHost {
    /// Keeps a descriptor open across restarts in place, under a name, and hands bytes along: a listening socket, so that its
    /// backlog is served by the next process; a connection with the half request that was read from it.
    ///
    /// It stays kept, also by the processes that follow, until it is given up under its name. Give it up before you close it:
    /// what is closed all the same is not handed over, and told of in `lostDescriptors`. A restart may come at any instruction,
    /// by a fault. Then the next process finds what was kept before a call or what was kept after it, never a mixture. A call
    /// costs about a microsecond, and the copying of the bytes; one that comes while another thread restarts the process does
    /// not return, unless the restart fails.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, or nil to keep none under this name any more; it stays open then, unless it was handed
    ///     over and never asked for.
    ///   - name: Any text of up to 4,096 bytes; there are 65,536 names.
    ///   - state: Up to 16 MiB.
    /// - Throws: `KeptDescriptorError`.
    public func keepAcrossRestart(
        _ descriptor: FileDescriptor?,
        as name: String,
        state: [UInt8] = []
    ) throws(KeptDescriptorError) {
        let table = kept.tableDescriptor
        do throws(Errno) {
            if let descriptor {
                try kept.keep(KeptEntry(descriptor: descriptor.rawValue, state: state), as: name)
            } else {
                try kept.remove(name)
            }
        } catch {
            throw KeptDescriptorError(error, name: name)
        }
        if kept.tableDescriptor != table { prepareRestart(isHealthy: isHealthy) }
    }

    /// Changes the bytes that go with a kept descriptor, as a whole: see `keepAcrossRestart(_:as:state:)`.
    ///
    /// - Throws: `KeptDescriptorError`.
    public func setKeptState(_ state: [UInt8], named name: String) throws(KeptDescriptorError) {
        let isKnown: Bool
        do throws(Errno) {
            isKnown = try kept.setState(state, of: name)
        } catch {
            throw KeptDescriptorError(error, name: name)
        }
        guard isKnown else { throw KeptDescriptorError(unknown: name) }
    }

    /// The descriptor that the process before this one kept under a name, closed on exec by a child; the caller owns it.
    public func keptDescriptor(named name: String) -> FileDescriptor? {
        kept.claim(name).map(FileDescriptor.init(rawValue:))
    }

    /// The bytes that are kept under a name.
    public func keptState(named name: String) -> [UInt8]? {
        kept.state(named: name)
    }

    /// The names under which something is kept, in their order.
    public var keptNames: [String] { kept.names }

    /// What the process before this one kept and then closed: its bytes are there, its descriptor is not.
    public var lostDescriptors: [LostDescriptor] { kept.inherited.lost }
}
