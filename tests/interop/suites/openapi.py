"""The OpenAPI document against the gateway's behaviour: schemathesis as the owner, with all checks (its default)."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import urllib.request

from gateway import Cases, Gateway

SCHEMATHESIS = pathlib.Path(sys.executable).parent / "st"
SEED = "1"
EXAMPLES = os.environ.get("SCHEMATHESIS_EXAMPLES", "10")

# Wrong tokens are part of the checks, and the limit on failed logins is not what they are about.
SETTINGS = "[limits]\nfailed_logins = 1000000\n"

# A request may fit its schema and still be refused for what it means: a path outside the workspace, a
# setting that does not exist, a model that is not configured, two parameters that exclude each other. What a tool says then is 400 or 422.
MEANING = [
    "^(GET|PUT|DELETE) /api/config(/file)?$",
    "^GET /api/tools$",
    "^GET /oauth/callback$",
    "^POST /api/(tools|trigger)/",
    "^POST /api/(chat|connections|models/providers|models/test|resources|servers|servers/preview|trust|artifacts)$",
    "^POST /api/channels/.*/login$",
    "^GET /api/sessions/.*/messages$",
    "^POST /api/sessions/.*/(branch|rewind|patch)$",
    "^POST /v1/",
]
# Without a node or a model these say 503, and nothing else is wrong with them.
MISSING = ["POST /api/tools/gsv__LogsGet", "POST /api/tools/plan_create", "POST /api/tools/gateway_read_artifact"]
# Tools have a case of their own; schemathesis makes no bodies of audio/*.
NOT_ROUTES = "^/api/(tools/|transcribe$)"
ACCEPTED = ["2xx", "3xx", "400", "401", "403", "404", "409", "413", "422", "429", "5xx"]


def settings(folder):
    """The settings of schemathesis."""
    text = []
    for name in MISSING:
        text += ["[[operations]]", f"include-name = {json.dumps(name)}", "checks.not_a_server_error.enabled = false",
                 f"checks.positive_data_acceptance.expected-statuses = {json.dumps(ACCEPTED)}"]
    for pattern in MEANING:
        text += ["[[operations]]", f"include-name-regex = {json.dumps(pattern)}",
                 f"checks.positive_data_acceptance.expected-statuses = {json.dumps(ACCEPTED)}"]
    file = folder / "schemathesis.toml"
    file.write_text("\n".join(text) + "\n")
    return file


def find(gateway, phases, *more):
    """Everything that schemathesis finds."""
    with tempfile.TemporaryDirectory(prefix="manyhands-openapi-") as name:
        folder = pathlib.Path(name)
        document = urllib.request.Request(gateway.url + "/api/openapi.json", headers={"authorization": f"Bearer {gateway.token}"})
        with urllib.request.urlopen(document, timeout=60) as answer:
            (folder / "openapi.json").write_bytes(answer.read())
        command = [SCHEMATHESIS, "--config-file", settings(folder), "run", folder / "openapi.json", "--url", gateway.url,
                   "--header", f"Authorization: Bearer {gateway.token}", "--phases", phases, "--seed", SEED,
                   "--max-examples", EXAMPLES, "--request-timeout", "30", "--continue-on-failure", "--warnings", "off", *more]
        ran = subprocess.run(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=800)
    if ran.returncode:
        print(ran.stdout[-200_000:], file=sys.stderr)
        raise AssertionError(ran.stdout[ran.stdout.rfind("SUMMARY"):][:450])


cases = Cases("schemathesis")


@cases.case("finds nothing in the routes")
def routes():
    with Gateway(SETTINGS) as gateway:
        find(gateway, "examples,coverage,fuzzing,stateful", "--exclude-path-regex", NOT_ROUTES)


@cases.case("finds nothing in the tools")
def tools():
    with Gateway(SETTINGS) as gateway:
        find(gateway, "examples,coverage,fuzzing", "--include-path-regex", "^/api/tools/")
