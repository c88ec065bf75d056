// What is kept, handed to another process by a fault handler.

#ifndef HF_ASYNC_KEPT_H
#define HF_ASYNC_KEPT_H

#include <stdbool.h>
#include <stdint.h>

/// Sends a table that is frozen, and the descriptors in it that are open, over a socket that keeps packets apart.
///
/// The first packet is HF_KEPT_TABLE_MARK, with the table. Each other one is HF_KEPT_SLOTS_MARK and the numbers of slots, with their
/// descriptors. What this library keeps for itself is not sent.
///
/// Returns false if the peer is gone, or takes nothing until a time of hf_async_monotonic_nanoseconds().
bool hf_async_send_kept(int socket, int table, uint64_t deadline);

/// Waits for the peer's answer; returns false if the peer has ended without one.
bool hf_async_kept_was_taken(int socket, uint64_t deadline);

#endif
