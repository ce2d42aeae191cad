"""An OTLP/HTTP receiver that decodes requests with the official package and writes them down.

    receiver.py FILE [PORT]

Prints the port that it listens on. Each request becomes a line of FILE: its path, its headers and the decoded message. The raw
body is appended to FILE.raw. Where there is a FILE.status, requests are answered with the status in it.
"""

import gzip
import http.server
import json
import pathlib
import sys
import threading

from google.protobuf.json_format import MessageToDict
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import (
    ExportLogsServiceRequest,
    ExportLogsServiceResponse,
)
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import (
    ExportMetricsServiceRequest,
    ExportMetricsServiceResponse,
)
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTraceServiceRequest,
    ExportTraceServiceResponse,
)

file = pathlib.Path(sys.argv[1])
messages = {
    "/v1/traces": (ExportTraceServiceRequest, ExportTraceServiceResponse),
    "/v1/metrics": (ExportMetricsServiceRequest, ExportMetricsServiceResponse),
    "/v1/logs": (ExportLogsServiceRequest, ExportLogsServiceResponse),
}
writing = threading.Lock()


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        body = self.rfile.read(int(self.headers["content-length"]))
        if self.headers.get("content-encoding") == "gzip":
            body = gzip.decompress(body)
        assert self.headers["content-type"] == "application/x-protobuf"
        request, response = messages[self.path]
        decoded = request.FromString(body)
        # Whatever the decoder does not know was written wrongly.
        assert request.FromString(body).SerializeToString() == decoded.SerializeToString()
        line = {
            "path": self.path,
            "headers": {name.lower(): value for name, value in self.headers.items()},
            "message": MessageToDict(decoded),
        }
        status = file.with_suffix(".status")
        status = int(status.read_text()) if status.exists() else 200
        if status == 200:
            with writing, open(file, "a") as lines, open(file.with_suffix(".raw"), "ab") as raw:
                lines.write(json.dumps(line) + "\n")
                raw.write(body)
        answer = response().SerializeToString()
        self.send_response(status)
        self.send_header("content-type", "application/x-protobuf")
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


port = int(sys.argv[2]) if len(sys.argv) > 2 else 0
server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Receiver)
print(f"listens on {server.server_port}", flush=True)
server.serve_forever()
