internal import Logging

extension LogHandler {
    /// The text of a line for Holdfast's own handlers: the label, the message, its error, and all metadata by key.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - label: The label of the logger; "" for none.
    ///   - told: Returns the text for a value of the metadata.
    /// - Returns: The line, without its end.
    func text(
        of event: LogEvent,
        label: String,
        telling told: (_ key: String, _ value: Logger.Metadata.Value) -> String = { "\($1)" }
    ) -> String {
        var text = label.isEmpty ? "\(event.message)" : "\(label): \(event.message)"
        if let error = event.error { text += ": \(error)" }
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        for (key, value) in all.sorted(by: { $0.key < $1.key }) { text += " \(key)=\(told(key, value))" }
        return text
    }
}
