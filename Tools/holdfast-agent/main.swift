import CommandOptions
import Glibc
import SystemPackage

do {
    try HoldfastAgent(CommandLine.arguments.dropFirst()).run()
} catch let error as UsageError {
    say("Error: \(error.text)\n'holdfast-agent --help' says more", to: .standardError)
    exit(EX_USAGE)
} catch {
    say("Error: \(error)", to: .standardError)
    exit(EXIT_FAILURE)
}
