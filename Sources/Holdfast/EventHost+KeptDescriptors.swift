public import CrashCapture
internal import Glibc
public import SystemPackage

/// Descriptors that stay open across restarts in place, each with bytes of the program's.
extension EventHost {
    /// Keeps a descriptor open across restarts in place, under a name, and hands bytes along.
    ///
    /// For a listening socket, so that the next process serves its backlog. For a connection, with the half request that was read from it.
    /// It stays kept, also by later processes, until it is given up under its name. Give it up before you close it. If it is closed all the
    /// same, it is not handed over, and `lostDescriptors` tells.
    ///
    /// A fault may restart the process at any instruction. The next process finds what was kept before a call or after it, never a mixture.
    /// A call costs about a microsecond, plus copying the bytes. If another thread restarts the process meanwhile, the call returns only if
    /// the restart fails.
    ///
    /// - Parameters:
    ///   - descriptor: The descriptor, or nil to keep none under this name any more. That one stays open, unless it was handed over and
    ///     never asked for.
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

    /// Replaces the bytes of a kept descriptor: see `keepAcrossRestart(_:as:state:)`.
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

    /// The descriptor that an earlier process kept under a name; the caller owns it; it is close-on-exec.
    public func keptDescriptor(named name: String) -> FileDescriptor? {
        kept.claim(name).map(FileDescriptor.init(rawValue:))
    }

    /// The bytes that are kept under a name.
    public func keptState(named name: String) -> [UInt8]? {
        kept.state(named: name)
    }

    /// The names under which something is kept, sorted.
    public var keptNames: [String] { kept.names }

    /// The descriptors that the process before this one kept and then closed: their bytes are there.
    public var lostDescriptors: [LostDescriptor] { kept.inherited.lost }
}
