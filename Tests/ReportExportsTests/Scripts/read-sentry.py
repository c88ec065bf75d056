"""Reads an envelope with Sentry's own package, and prints what is in it as JSON.

Usage: read-sentry.py FILE
"""
import json
import sys

from sentry_sdk.envelope import Envelope

data = open(sys.argv[1], "rb").read()
envelope = Envelope.deserialize(data)
items = [
    {
        "type": item.type,
        "headers": item.headers,
        "bytes": len(item.get_bytes()),
        "payload": item.payload.json if item.payload.json is not None else json.loads(item.get_bytes()),
    }
    for item in envelope.items
]
# Written and read again: what the package keeps is all there was.
again = Envelope.deserialize(envelope.serialize())
print(
    json.dumps(
        {
            "headers": envelope.headers,
            "lines": [len(line) for line in data.split(b"\n")],
            "items": items,
            "hasEvent": envelope.get_event() is not None,
            "isStable": [item.get_bytes() for item in again.items] == [item.get_bytes() for item in envelope.items],
        }
    )
)
