"""An npm registry of one release: just enough for `npx manyhands` to find its packages without the real one.

    python3 -m installs.registry FOLDER PORT
"""

import base64
import hashlib
import json
import sys
import tarfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


def packages(folder: Path, address: str) -> dict[str, dict]:
    """The documents of the registry, by name of package."""
    found = {}
    for path in sorted(folder.glob("*.tgz")):
        data = path.read_bytes()
        with tarfile.open(path) as archive:
            manifest = json.load(archive.extractfile("package/package.json"))
        integrity = "sha512-" + base64.b64encode(hashlib.sha512(data).digest()).decode()
        version = {**manifest, "dist": {"tarball": f"{address}/files/{path.name}", "integrity": integrity}}
        found[manifest["name"]] = {
            "name": manifest["name"],
            "dist-tags": {"latest": manifest["version"]},
            "versions": {manifest["version"]: version},
        }
    return found


def main() -> None:
    folder, port = Path(sys.argv[1]), int(sys.argv[2])
    listed = packages(folder, f"http://127.0.0.1:{port}")

    class Registry(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            path = unquote(self.path).lstrip("/")
            file = folder / path.removeprefix("files/")
            if path in listed:
                self.answer(200, json.dumps(listed[path]).encode())
            elif path.startswith("files/") and file.parent == folder and file.is_file():
                self.answer(200, file.read_bytes())
            else:
                self.answer(404, b"{}")

        def answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", port), Registry)
    print("the registry listens", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
