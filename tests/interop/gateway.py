"""A gateway, a scripted model and a list of cases, for the Python suites."""

import asyncio
import contextlib
import importlib.metadata
import inspect
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import traceback
import urllib.request

BINARY = os.environ["MANYHANDS_BIN"]
INTEROP = pathlib.Path(os.environ["INTEROP"])


class Started:
    """A program whose first lines say where it listens."""

    def __init__(self, command, marker, **options):
        self.child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
        seen = []
        for line in self.child.stdout:
            seen.append(line)
            if marker in line:
                self.line = line.strip()
                break
        else:
            raise RuntimeError(f"{command[0]} did not start: {''.join(seen)}")
        # What it prints later must not fill the pipe.
        threading.Thread(target=self.child.stdout.read, daemon=True).start()

    def stop(self):
        self.child.terminate()
        try:
            self.child.wait(20)
        except subprocess.TimeoutExpired:
            self.child.kill()
            self.child.wait()


class Gateway(contextlib.AbstractContextManager):
    """A gateway on a fresh home: `url`, `token`, `home`."""

    def __init__(self, config="", arguments=()):
        self.folder = tempfile.TemporaryDirectory(prefix="manyhands-interop-")
        self.home = pathlib.Path(self.folder.name) / "home"
        self.home.mkdir(mode=0o700)
        (self.home / "config.toml").write_text(config)
        self.arguments = arguments
        self.environment = {**os.environ, "MANYHANDS_HOME": str(self.home)}
        self.start()

    def start(self, listen="127.0.0.1:0"):
        command = [BINARY, "up", "--no-node", "--listen", listen, *self.arguments]
        self.daemon = Started(command, "http://", env=self.environment)
        self.url = "http://" + self.daemon.line.split("http://", 1)[1].split()[0].rstrip("/")
        self.token = (self.home / "owner.token").read_text().strip()

    def restart(self):
        self.daemon.stop()
        self.start(self.url.removeprefix("http://"))

    def stop(self):
        self.daemon.stop()
        self.folder.cleanup()

    def __exit__(self, *_):
        self.stop()

    def request(self, method, path, body=None, headers=None):
        """Status and JSON of a request as the owner."""
        data = None if body is None else json.dumps(body).encode()
        headers = {"authorization": f"Bearer {self.token}", "content-type": "application/json", **(headers or {})}
        request = urllib.request.Request(self.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=60) as answer:
                return answer.status, json.loads(answer.read() or "null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read() or "null")

    def call(self, tool, arguments=None):
        """What a tool returns; an error when it fails."""
        _, answer = self.request("POST", f"/api/tools/{tool}", arguments or {})
        if not answer.get("ok"):
            raise RuntimeError(f"{tool}: {answer}")
        return answer["result"]

    def cli(self, *arguments):
        """Runs the command line on this home."""
        environment = {**self.environment, "MANYHANDS_URL": self.url}
        return subprocess.run([BINARY, *arguments], env=environment, capture_output=True, text=True, timeout=120)


class Model(contextlib.AbstractContextManager):
    """A scripted model server (npm @copilotkit/aimock): `url`, and `journal()` with what it received."""

    def __init__(self, fixtures):
        self.folder = tempfile.TemporaryDirectory(prefix="manyhands-model-")
        file = pathlib.Path(self.folder.name) / "fixtures.json"
        file.write_text(json.dumps({"fixtures": fixtures}))
        script = INTEROP / "node/node_modules/@copilotkit/aimock/dist/cli.js"
        command = ["node", str(script), "--port", "0", "--host", "127.0.0.1", "--strict", "--fixtures", str(file)]
        self.daemon = Started(command, "listening on http://", cwd=self.folder.name)
        self.url = "http://" + self.daemon.line.rsplit("http://", 1)[1].strip()

    def journal(self):
        with urllib.request.urlopen(f"{self.url}/__aimock/journal?limit=1000", timeout=60) as answer:
            return json.loads(answer.read())

    def __exit__(self, *_):
        self.daemon.stop()
        self.folder.cleanup()


class Cases:
    """The cases of one package. Each is tried by itself; a failure does not stop the others."""

    def __init__(self, package, version=None):
        self.package = package
        self.version = version or importlib.metadata.version(package)

    def case(self, name, limit=120):
        """Runs the function below it at once: `@cases.case("answers")`."""

        def tried(function):
            detail = None
            try:
                if inspect.iscoroutinefunction(function):
                    asyncio.run(asyncio.wait_for(function(), limit))
                else:
                    function()
            except BaseException as error:  # a package may raise anything
                if isinstance(error, KeyboardInterrupt):
                    raise
                print(f"--- {self.package}: {name}", file=sys.stderr)
                traceback.print_exc()
                detail = f"{type(error).__name__}: {error}"[:500]
            line = {"package": self.package, "version": self.version, "case": name, "ok": detail is None}
            if detail is not None:
                line["detail"] = detail
            print(json.dumps(line), flush=True)
            return function

        return tried
