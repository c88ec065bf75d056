import CFaultInjection
import CFrameProbe
import FaultInjection
import Glibc

/// What stands on the stack when a fault happens.
enum Shape: String, CaseIterable {
    case closure
    case escapingClosure = "escaping-closure"
    case nestedClosures = "nested-closures"
    case localFunction = "local-function"
    case reabstractionThunk = "reabstraction-thunk"
    case generic
    case genericSpecialized = "generic-specialized"
    case parameterPack = "parameter-pack"
    case protocolWitness = "protocol-witness"
    case defaultImplementation = "default-implementation"
    case classMethod = "class-method"
    case initializer
    case deinitializer = "class-deinit"
    case getter
    case setterObserver = "setter-observer"
    case subscriptRead = "subscript"
    case lazyProperty = "lazy-property"
    case staticProperty = "static-property"
    case keyPath = "key-path"
    case operatorFunction = "operator"
    case autoclosure
    case defaultArgument = "default-argument"
    case throwing
    case rethrowingMap = "rethrowing-map"
    case inlinedChain = "inlined-chain"
    case inlinedTwice = "inlined-twice"
    case recursion
    case deepRecursion = "deep-recursion"
    case mutualRecursion = "mutual-recursion"
    case throughC = "through-c"
    case throughCxx = "through-cxx"
    case throughCxxSort = "through-cxx-sort"
    case throughQsort = "through-qsort"
    case withoutFramePointers = "without-frame-pointers"
    case signalHandler = "signal-handler"
    case lastCall = "last-call"
    case thread
    case asyncFunction = "async-function"
    case asyncAfterSuspension = "async-after-suspension"
    case taskGroup = "task-group"
    case actorMethod = "actor-method"
    case asyncSequence = "async-sequence"
}

/// Faults with that on the stack.
@inline(never)
func commit(_ shape: Shape) {
    switch shape {
    case .closure, .escapingClosure, .nestedClosures, .localFunction, .reabstractionThunk, .autoclosure,
        .defaultArgument, .throwing, .rethrowingMap:
        commitInFunctions(shape)
    case .generic, .genericSpecialized, .parameterPack, .protocolWitness, .defaultImplementation:
        commitInGenerics(shape)
    case .classMethod, .initializer, .deinitializer, .getter, .setterObserver, .subscriptRead, .lazyProperty,
        .staticProperty, .keyPath, .operatorFunction:
        commitInMembers(shape)
    case .inlinedChain, .inlinedTwice, .recursion, .deepRecursion, .mutualRecursion:
        commitInDepth(shape)
    case .throughC: withCallback(fault, hf_frame_through_c)
    case .throughCxx: withCallback(fault, hf_frame_through_cxx)
    case .throughCxxSort: withCallback(fault, hf_frame_through_cxx_sort)
    case .throughQsort: withCallback(fault, hf_frame_through_qsort)
    case .withoutFramePointers: withCallback(fault, hf_frame_without_frame_pointers)
    case .signalHandler: withCallback(fault, hf_frame_through_signal)
    case .lastCall: withCallback(fault) { hf_frame_last_call($0, $1) }
    case .thread: onSmallStack(fault)
    case .asyncFunction, .asyncAfterSuspension, .taskGroup, .actorMethod, .asyncSequence:
        commitInTasks(shape)
    }
    hf_fault_returned()
}

/// The fault of all shapes.
@inline(never)
func fault() {
    Fault.nilUnwrap.commit()
    hf_fault_returned()
}

/// A number that the optimiser knows nothing of.
func opaque(_ value: Int) -> Int {
    Int(hf_fault_opaque(Int64(value)))
}
