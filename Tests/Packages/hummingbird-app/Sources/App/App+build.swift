import Configuration
import Hummingbird
import Logging

typealias AppRequestContext = BasicRequestContext

func buildApplication(reader: ConfigReader) async throws -> some ApplicationProtocol {
    let router = try buildRouter()
    return Application(
        router: router,
        configuration: ApplicationConfiguration(reader: reader.scoped(to: "http")),
        logger: Logger(label: "hummingbird-app")
    )
}

func buildRouter() throws -> Router<AppRequestContext> {
    let router = Router(context: AppRequestContext.self)
    router.addMiddleware {
        LogRequestsMiddleware(.info)
    }
    router.get("/") { _, _ in
        "Hello!"
    }
    return router
}
