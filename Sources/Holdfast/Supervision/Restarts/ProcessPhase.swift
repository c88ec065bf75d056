/// How far a process has come: what its end says depends on it.
package enum ProcessPhase: String, Sendable, Hashable, CaseIterable {
    /// Its host does not run yet.
    case starting
    /// Its host runs, and has served nothing yet.
    case running
    /// It has served something: a callout of a port, a source, a timer or the main queue has returned.
    case serving
}
