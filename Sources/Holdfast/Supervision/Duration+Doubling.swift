extension Duration {
    /// The duration doubled so many times, but no longer than a limit; none of the two counts as less than zero.
    func doubled(times: Int, atMost limit: Duration) -> Duration {
        let limit = max(.zero, limit)
        var result = max(.zero, self)
        var done = 0
        while (result > .zero) && (result < limit) && (done < times) {
            result += result
            done += 1
        }
        return min(result, limit)
    }
}
