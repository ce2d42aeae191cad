"""What must work wherever the program was installed, in the order in which a new user tries it."""

import json
import shutil
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from .box import Failed, Network, Program

REPOSITORY = Path(__file__).resolve().parents[2]
ANSWER = "Good morning from the scripted model."


class Installed(Protocol):
    """A package after its installation: how its program is called, and where its data are."""

    def cli(self, *arguments: str, more: dict[str, str] | None = None) -> str: ...
    def up(self) -> Program: ...
    def node(self, *arguments: str) -> Program: ...
    def write_settings(self, text: str) -> None: ...


class Model:
    """A scripted model server that nobody here wrote, outside of the clean system but in its network."""

    def __init__(self, network: Network, scratch: Path) -> None:
        fixtures = scratch / "fixtures.json"
        scratch.mkdir(parents=True, exist_ok=True)
        fixtures.write_text(json.dumps({"fixtures": [{"match": {"userMessage": "hello"}, "response": {"content": ANSWER}}]}))
        server = REPOSITORY / "tests/model-server/node_modules/@copilotkit/aimock/dist/cli.js"
        command = network.inside("node", str(server), "--port", "0", "--host", "127.0.0.1", "--fixtures", str(fixtures))
        self.program = Program(command, scratch / "model.log", "listening on http://")
        self.url = "http://" + self.program.line.split("http://")[1].strip()

    def settings(self) -> str:
        return f'[models]\ndefault = "scripted/gpt-5.5"\n[models.providers.scripted]\nkind = "openai"\nbase_url = "{self.url}/v1"\n'


@dataclass(frozen=True)
class Seconds:
    """How long a user waited."""

    first_answer: float


def equal(found: object, wanted: object, about: str) -> None:
    if found != wanted:
        raise Failed(f"{about}: found {found!r}, not {wanted!r}")


def contains(found: str, wanted: str, about: str) -> None:
    if wanted not in found:
        raise Failed(f"{about}: there is no {wanted!r} in {found!r}")


def use(installed: Installed, network: Network, model: Model, version: str, started: float, nodes: bool = True) -> Seconds:
    """`started` is when the installation began."""
    installed.write_settings(model.settings())
    gateway = installed.up()
    contains(installed.cli("chat", "hello"), ANSWER, "the agent answers")
    seconds = Seconds(time.monotonic() - started)

    contains(installed.cli("--version"), version, "the program says its version")
    written = json.loads(installed.cli("call", "gsv__WriteFile", '{"path":"memory/a.md","content":"kept"}'))
    equal(written["ok"], True, "a call writes a file")
    contains(installed.cli("call", "gsv__ReadFile", '{"path":"memory/a.md"}'), "kept", "a call reads it")
    if nodes:
        share_a_machine(installed)
    look_at_the_page(installed, network)
    gateway.stop()
    return seconds


def share_a_machine(installed: Installed) -> None:
    code = installed.cli("nodes", "code", "laptop").split()[0]
    node = installed.node("--code", code, "--id", "laptop")
    read = installed.cli("call", "laptop__Bash", '{"command":"echo from $((40 + 2))"}')
    contains(read, "from 42", "a node runs a command")
    node.stop()


def look_at_the_page(installed: Installed, network: Network) -> None:
    link = installed.cli("link").strip()
    chromium = subprocess.run([REPOSITORY / "tools/chromium"], capture_output=True, text=True, check=True).stdout.strip()
    script = str(Path(__file__).with_name("page.mjs"))
    command = network.inside(shutil.which("node") or "node", script, link, chromium, ANSWER)
    ran = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if ran.returncode != 0:
        raise Failed(f"the page in a browser: {ran.stdout}{ran.stderr}")
