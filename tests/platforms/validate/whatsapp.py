"""WhatsApp: the OpenAPI description of the Cloud API, version 23."""

import json

from openapi import Description

MESSAGES = "/{Version}/{Phone-Number-ID}/messages"
RECEIPT = "Send typing indicator and read receipt"

# Fields of messages that are younger than the description.
YOUNGER = {"group_id"}


def paths(value, at=""):
    """Every value with its way; messages and what is pressed are told apart by their type."""
    if isinstance(value, dict):
        for name, item in value.items():
            yield from paths(item, f"{at}.{name}")
    elif isinstance(value, list):
        for item in value:
            kind = item.get("type") if at.endswith(".messages") else None
            yield from paths(item, f"{at}[{kind}]" if kind else at)
    else:
        yield at, value


def checker(data):
    api = Description(data / "platforms/whatsapp-cloud-v23.yaml", closed=False)

    def receipt(body):
        """Receipts are described by an example only: they have its fields and no others."""
        content = api.operation(MESSAGES, "POST")["requestBody"]["content"]
        example = content["application/json"]["examples"][RECEIPT]["value"]
        wanted = example.keys() - {"typing_indicator"}
        problems = [f"{name} is missing" for name in wanted - body.keys()]
        problems += [f"{name} is not described" for name in body.keys() - example.keys()]
        for name in ("messaging_product", "status", "typing_indicator"):
            if name in body and body[name] != example[name]:
                problems.append(f"{name} is not {example[name]}")
        return problems

    # The schemas of incoming messages are mixed up with those of outgoing ones; the examples are not.
    known = {}
    content = api.operation("/whatsapp/webhooks", "POST")["requestBody"]["content"]
    for example in content["application/json"]["examples"].values():
        for path, value in paths(example["value"]):
            known.setdefault(path, set()).add(type(value))

    def told(payload):
        problems = []
        for value in (change["value"] for entry in payload["entry"] for change in entry["changes"]):
            for status in value.pop("statuses", []):
                problems += api.problems(api.schema("Statuses"), status, "status")
        for path, value in paths(payload):
            kind = path.split("]")[0] + "]"
            if "[" in path and f"{kind}.type" not in known:
                continue
            if path not in known:
                if path.rsplit(".")[-1] not in YOUNGER:
                    problems.append(f"{path} is not described")
            elif type(value) not in known[path]:
                problems.append(f"{path} is a {type(value).__name__}")
        return problems

    def check(record):
        if record["method"] == "WEBHOOK":
            return told(json.loads(record["body"]["raw"]))
        path, body = record["path"], record["body"]
        operation = api.operation(path, record["method"])
        if operation is None:
            return ["is not described"]
        kind = record["content_type"].split(";")[0]
        if path == MESSAGES and "status" in body:
            return receipt(body)
        if path == MESSAGES and "recipient" in body:
            # People who keep their numbers to themselves are younger than the description.
            body = {**body, "to": body["recipient"]}
            del body["recipient"]
        if record["method"] == "GET":
            return []
        schema = api.body(operation, kind)
        if schema is None:
            return [f"does not take {kind}"]
        if kind == "multipart/form-data":
            # A file stands in the journal by its name, type and size.
            body = {**body, "file": "bytes" if isinstance(body.get("file"), dict) else None}
        return api.problems(schema, body)

    return check
