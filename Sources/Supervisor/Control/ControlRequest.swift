/// What a supervisor is asked to do: a line of text, an order and the name of a program.
package struct ControlRequest: Sendable, Equatable {
    /// The orders.
    package enum Order: String, Sendable, CaseIterable {
        /// Say how everything is, in JSON.
        case status
        /// The same, for people.
        case describe
        /// Say whether everything is ready.
        case probe
        /// End each process and start the next one.
        case restart
        /// Start the next process of each beside the one that serves, and let it take over when it is ready.
        case upgrade
        /// Have the programs read their configuration again.
        case reload
        /// End everything.
        case stop
    }

    package var order: Order
    /// The program that it is about; nil for all.
    package var program: String?
    /// Who asks, in words.
    package var sender = "holdfast"

    package init(_ order: Order, program: String? = nil) {
        self.order = order
        self.program = program
    }

    /// Reads a request; nil if it is none.
    init?(bytes: ArraySlice<UInt8>) {
        let words = String(decoding: bytes.prefix { $0 != 10 }, as: UTF8.self).split(separator: " ", maxSplits: 1)
        guard let order = words.first.flatMap({ Order(rawValue: String($0)) }) else { return nil }
        self.init(order, program: words.count > 1 ? String(words[1]) : nil)
    }

    /// The request as it is sent.
    var text: String { order.rawValue + (program.map { " \($0)" } ?? "") + "\n" }
}
