"""An MCP server over Streamable HTTP that writes down which trace each request names.

    mcp_server.py FILE

Prints the port that it listens on. Each request becomes a line of FILE: its method, its headers and its `_meta`. The tool `note`
answers with its text; with `fail` it reports an error.
"""

import http.server
import json
import sys

TOOL = {
    "name": "note",
    "description": "Repeats a text.",
    "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}, "fail": {"type": "boolean"}}},
    "annotations": {"readOnlyHint": True},
}


def result(method, params):
    if method == "initialize":
        info = {"name": "notes", "version": "1"}
        return {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": info}
    if method == "tools/list":
        return {"tools": [TOOL]}
    if method == "tools/call":
        arguments = params.get("arguments", {})
        content = [{"type": "text", "text": arguments.get("text", "")}]
        return {"content": content, "isError": arguments.get("fail", False)}
    return {} if method == "ping" else None


class Server(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        message = json.loads(self.rfile.read(int(self.headers["content-length"])))
        method, params = message.get("method", ""), message.get("params", {})
        headers = {name.lower(): value for name, value in self.headers.items()}
        with open(sys.argv[1], "a") as lines:
            line = {"method": method, "headers": headers, "meta": params.get("_meta", {})}
            lines.write(json.dumps(line) + "\n")
        if "id" not in message:
            return self.answer(202, b"")
        answer = {"jsonrpc": "2.0", "id": message["id"]}
        said = result(method, params)
        if said is None:
            answer["error"] = {"code": -32601, "message": "method not found"}
        else:
            answer["result"] = said
        self.answer(200, json.dumps(answer).encode())

    def do_GET(self):
        self.answer(405, b"")

    def answer(self, status, body):
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
print(f"listens on {server.server_port}", flush=True)
server.serve_forever()
