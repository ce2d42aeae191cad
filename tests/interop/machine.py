"""A machine that connects to a gateway as a node."""

import contextlib
import os
import subprocess
import tempfile

from gateway import BINARY


@contextlib.contextmanager
def node(gateway):
    """A node `laptop`, whose tools are there as long as this lasts."""
    _, made = gateway.request("POST", "/api/tokens", {"name": "laptop", "role": "node"})
    with tempfile.TemporaryDirectory() as folder:
        command = [BINARY, "node", "--id", "laptop", "--url", gateway.url, "--workspace", folder]
        environment = {**os.environ, "MANYHANDS_HOME": folder, "MANYHANDS_TOKEN": made["result"]["token"]}
        child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            yield
        finally:
            child.terminate()
            child.wait(20)
