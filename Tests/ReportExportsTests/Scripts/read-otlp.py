"""Reads OTLP's JSON into OpenTelemetry's own messages, and prints them as JSON.

Protobuf's JSON has bytes in base64, OTLP has identifiers in hexadecimal digits: those are turned first. A key that the
messages do not have is an error.

Usage: read-otlp.py FILE
"""
import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.logs.v1.logs_pb2 import LogsData


def turned(value):
    if isinstance(value, list):
        return [turned(element) for element in value]
    if not isinstance(value, dict):
        return value
    return {
        key: base64.b64encode(bytes.fromhex(member)).decode() if key in ("traceId", "spanId") else turned(member)
        for key, member in value.items()
    }


documents = []
for line in open(sys.argv[1], encoding="utf-8"):
    logs = json_format.Parse(json.dumps(turned(json.loads(line))), LogsData())
    record = logs.resource_logs[0].scope_logs[0].log_records[0]
    documents.append(
        {
            "message": json_format.MessageToDict(logs),
            "time": record.time_unix_nano,
            "severity": record.severity_number,
            "traceId": record.trace_id.hex(),
            "spanId": record.span_id.hex(),
            "wireBytes": logs.ByteSize(),
        }
    )
print(json.dumps(documents))
