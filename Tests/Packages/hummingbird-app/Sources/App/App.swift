import Configuration
import Hummingbird
import Logging

@main
struct App {
    static func main() async throws {
        let reader = ConfigReader(providers: [
            CommandLineArgumentsProvider(), EnvironmentVariablesProvider(),
        ])
        let app = try await buildApplication(reader: reader)
        try await app.runService()
    }
}
