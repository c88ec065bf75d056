import FaultInjection
import GRPCCore

/// Methods that answer, and methods that fault in all the places where a handler's code may be.
///
/// Written by hand instead of generated: a message is a text.
struct FaultService: RegistrableRPCService {
    /// The methods, by what is behind the last slash of their paths.
    enum Method: String, CaseIterable {
        case ok, fault, await, child, `let`, stream, actor

        var descriptor: MethodDescriptor {
            MethodDescriptor(fullyQualifiedService: "holdfast.Faults", method: rawValue)
        }
    }

    func registerMethods<Transport: ServerTransport>(with router: inout RPCRouter<Transport>) {
        for method in Method.allCases {
            router.registerHandler(forMethod: method.descriptor, deserializer: Text(), serializer: Text()) {
                request,
                _ in
                var text = ""
                for try await message in request.messages { text = message }
                return try await answer(method, text)
            }
        }
    }

    private func fault(_ name: String) throws -> Fault {
        guard let fault = Fault(rawValue: name) else {
            throw RPCError(code: .notFound, message: "no fault is called \(name)")
        }
        return fault
    }

    private func answer(_ method: Method, _ text: String) async throws -> StreamingServerResponse<String> {
        switch method {
        case .ok:
            return response { _ in "fine" }
        case .fault:
            try fault(text).commit()
            return response { _ in "no fault" }
        case .await:
            let fault = try fault(text)
            return response { _ in "\(await showUser(fault))" }
        case .child:
            let fault = try fault(text)
            return await withTaskGroup(of: Int.self) { group in
                group.addTask {
                    // Until the group waits for it.
                    try? await Task.sleep(for: .milliseconds(1))
                    fault.commit()
                    return 2
                }
                let sum = await group.reduce(0, +)
                return response { _ in "\(sum)" }
            }
        case .let:
            let fault = try fault(text)
            async let number = query(fault)
            let value = await number
            return response { _ in "\(value)" }
        case .actor:
            // Its lock would stay held: the process is replaced.
            let fault = try fault(text)
            return response { _ in "\(await Account().close(fault))" }
        case .stream:
            let fault = try fault(text)
            // The answer has begun when it faults.
            return StreamingServerResponse { writer in
                for number in 1...3 { try await writer.write("\(number)") }
                fault.commit()
                return [:]
            }
        }
    }

    private func response(
        _ text: @escaping @Sendable (Int) async throws -> String
    ) -> StreamingServerResponse<String> {
        StreamingServerResponse { writer in
            try await writer.write(try await text(0))
            return [:]
        }
    }
}

@inline(never)
private func showUser(_ fault: Fault) async -> Int { await query(fault) + 1 }

@inline(never)
private func query(_ fault: Fault) async -> Int {
    await Task.yield()
    fault.commit()
    return 1
}

private actor Account {
    func close(_ fault: Fault) -> Int {
        fault.commit()
        return 1
    }
}

/// Texts as messages.
struct Text: MessageSerializer, MessageDeserializer {
    func serialize<Bytes: GRPCContiguousBytes>(_ message: String) throws -> Bytes { Bytes(Array(message.utf8)) }

    func deserialize<Bytes: GRPCContiguousBytes>(_ bytes: Bytes) throws -> String {
        bytes.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
    }
}
