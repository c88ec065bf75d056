/// Runs a body as ordinary code: the bodies of exit tests are asynchronous, and there a loop is neither found nor run.
public func synchronously<Value>(_ body: () throws -> Value) rethrows -> Value { try body() }
