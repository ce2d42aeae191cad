"""Slack: the OpenAPI (Swagger 2) description of the Web API."""

import json

# Younger than the description, by Slack's reference: which fields there are, and which there must be.
YOUNGER = {
    "/apps.connections.open": ("POST", set(), set()),
    "/files.getUploadURLExternal": (
        "POST",
        {"filename", "length", "alt_text", "snippet_type"},
        {"filename", "length"},
    ),
    "/files.completeUploadExternal": (
        "POST",
        {"files", "channel_id", "channels", "thread_ts", "initial_comment", "blocks"},
        {"files"},
    ),
}


def fits(kind, value):
    if kind == "boolean":
        return value in ("true", "false", "1", "0")
    if kind in ("integer", "number"):
        return value.lstrip("-").replace(".", "", 1).isdigit()
    return True


def checker(data):
    described = json.loads((data / "platforms/slack-web-openapi-2021.json").read_text())["paths"]

    def check(record):
        path, method, body = record["path"], record["method"], record["body"]
        if path in YOUNGER:
            verb, known, wanted = YOUNGER[path]
            problems = [] if method == verb else [f"is a {verb}"]
            problems += [f"unknown field {name}" for name in body.keys() - known]
            return problems + [f"missing field {name}" for name in wanted - body.keys()]
        if path not in described:
            return [f"no such method"]
        operation = described[path].get(method.lower())
        if operation is None:
            return [f"is not a {method}"]
        problems = []
        kind = record["content_type"].split(";")[0]
        if method != "GET" and kind not in operation.get("consumes", []):
            problems.append(f"does not take {kind}")
        # The token goes in a header, whatever the description says.
        fields = {one["name"]: one for one in operation["parameters"] if one["name"] != "token"}
        for name, value in body.items():
            if name not in fields:
                problems.append(f"unknown field {name}")
            elif not fits(fields[name].get("type"), value):
                problems.append(f"{name} is not a {fields[name]['type']}")
        for name, field in fields.items():
            if field.get("required") and name not in body:
                problems.append(f"missing field {name}")
        return problems

    return check
