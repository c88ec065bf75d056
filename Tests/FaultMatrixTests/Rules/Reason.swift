/// Why a verdict was given.
enum Reason: Sendable {
    case onlyApplicationFrames
    case raisedByItself
    case outsideOfCallouts
    case task
    case actor
    case lock
    case memoryPolicy
    case overflowPolicy
    case libraryBetween
    case nativeBetween
    case forbiddenCall
    case fileSize
    case processorTime
    case insideLibrary
    case runIsOver

    /// The words of which one must be in the report.
    var words: [String] {
        switch self {
        case .onlyApplicationFrames: ["only application frames lie above the recovery point"]
        case .raisedByItself: ["the process raised the signal itself"]
        case .outsideOfCallouts: ["it happened outside of a callout of"]
        // The concurrency runtime calls the job.
        case .task: ["a Swift task was running", "a library's frame lies between"]
        case .actor: ["the job was isolated to an actor"]
        case .lock: ["a lock that the callout took is still held", "it happened inside a function that holds a lock"]
        case .memoryPolicy: ["the policy does not resume memory faults"]
        case .overflowPolicy: ["the policy does not resume stack overflows"]
        case .libraryBetween: ["a library's frame lies between"]
        case .nativeBetween: ["a C or C++ function of the executable lies between"]
        case .forbiddenCall: ["a forbidden system call was made"]
        case .fileSize: ["a file was to grow beyond what the process may write"]
        case .processorTime: ["the processor time that the process may use is over"]
        case .insideLibrary: ["it happened inside a library"]
        case .runIsOver: ["the run of the host is over"]
        }
    }
}
