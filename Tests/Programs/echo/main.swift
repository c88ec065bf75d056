import Glibc
import Holdfast

let host = try EventHost()
var count = 0

let input = HostRunLoop.PortSource(label: "input", descriptor: .standardInput) { _, _ in
    var bytes = [UInt8](repeating: 0, count: 4096)
    let size = read(STDIN_FILENO, &bytes, bytes.count)
    guard size > 0 else { return host.stop() }
    count += 1
    print("\(count):", String(decoding: bytes[..<size], as: UTF8.self), terminator: "")
}
try host.loop.add(input, to: .common)

host.run()
host.close()
