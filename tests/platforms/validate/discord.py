"""Discord: the OpenAPI description of its REST interface, whose schemas are JSON Schema as they are."""

import json

from jsonschema import Draft202012Validator
from referencing import Registry, Resource
from referencing.jsonschema import DRAFT202012

HOME = "urn:discord"


def strict(schema):
    """The same schema, but with no fields that it does not name."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    made = {name: strict(one) for name, one in schema.items()}
    if isinstance(made.get("properties"), dict) and "additionalProperties" not in made:
        made["additionalProperties"] = False
    return made


def checker(data):
    described = json.loads((data / "platforms/discord-openapi.json").read_text())
    described["components"] = strict(described["components"])
    resource = Resource.from_contents(described, default_specification=DRAFT202012)
    registry = Registry().with_resource(HOME, resource)
    checks = {}

    def validator(path, method, kind):
        at = ["paths", path, method, "requestBody", "content", kind, "schema"]
        pointer = "/".join(one.replace("~", "~0").replace("/", "~1") for one in at)
        return Draft202012Validator({"$ref": f"{HOME}#/{pointer}"}, registry=registry)

    def check(record):
        path, method = record["path"], record["method"].lower()
        if path.startswith("/attachments/"):
            return None
        operation = described["paths"].get(path, {}).get(method)
        if operation is None:
            return ["no such operation"]
        wanted = operation.get("requestBody")
        if wanted is None:
            return ["takes no body"] if record["body"] else []
        kind = record["content_type"].split(";")[0]
        if kind not in wanted["content"]:
            return [f"does not take {kind}"]
        # A form's fields are those of its JSON; its files stand beside them.
        fields = dict(record["body"])
        files = [name for name in list(fields) if name.startswith("files[")]
        for name in files:
            del fields[name]
        if files and kind != "multipart/form-data":
            return ["files outside of a form"]
        key = path, method
        if key not in checks:
            checks[key] = validator(path, method, "application/json")
        return [f"{one.json_path}: {one.message[:200]}" for one in checks[key].iter_errors(fields)]

    return check
