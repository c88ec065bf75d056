import ArgumentParser

// Not `ParsableCommand.main()`: code at the top is the main actor's, as the host and its loop are.
let agent = HoldfastAgent.parseOrExit()
do {
    try agent.serve()
} catch {
    HoldfastAgent.exit(withError: error)
}
