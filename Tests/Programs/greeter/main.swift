import Glibc
import Holdfast

var configuration = EventHost.Configuration.keepServing
let host = try EventHost(configuration)

let greeter = HostRunLoop.Timer(label: "greeter", after: .seconds(1), repeating: .seconds(1)) { _ in
    let names = ["Anna", "Bo", "Carla"]
    print("Hello \(names[Int.random(in: 0...3)])")  // names[3] does not exist
}
host.loop.add(greeter, to: .common)
host.onFault { fault in print(fault) }
try host.onSignal(SIGTERM) { _ in host.stop() }

host.run()
host.close()
