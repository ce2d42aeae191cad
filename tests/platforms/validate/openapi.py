"""Values against schemas of OpenAPI descriptions, with what chat platforms make of them:
`discriminator` chooses the schema, and `additionalProperties: false` within `allOf` means all parts
of it together."""

try:
    import yaml
except ImportError:
    raise SystemExit("PyYAML is missing; install it with: python3 -m pip install pyyaml")

KINDS = {
    "object": dict,
    "array": list,
    "string": str,
    "integer": int,
    "number": (int, float),
    "boolean": bool,
}


class Description:
    def __init__(self, path, closed):
        """`closed`: fields that are not described are wrong everywhere."""
        loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
        self.whole = yaml.load(path.read_text(), Loader=loader)
        self.closed = closed

    def schema(self, name):
        return self.whole["components"]["schemas"][name]

    def operation(self, path, method):
        return self.whole["paths"].get(path, {}).get(method.lower())

    def resolve(self, schema):
        while "$ref" in schema:
            here = self.whole
            for part in schema["$ref"].lstrip("#/").split("/"):
                here = here[part]
            schema = here
        return schema

    def body(self, operation, kind):
        """The schema of an operation's body, or None where it takes no such."""
        content = operation.get("requestBody", {}).get("content", {})
        return content.get(kind, {}).get("schema")

    def flat(self, schema):
        """All properties and all required ones of a schema with its parts, and whether it is closed."""
        schema = self.resolve(schema)
        properties = dict(schema.get("properties", {}))
        required = set(schema.get("required", []))
        closed = schema.get("additionalProperties") is False
        for part in schema.get("allOf", []):
            more, also, shut = self.flat(part)
            properties = {**more, **properties}
            required |= also
            closed |= shut
        return properties, required, closed

    def problems(self, schema, value, at=""):
        schema = self.resolve(schema)
        choice = schema.get("discriminator")
        if choice and isinstance(value, dict):
            chosen = choice.get("mapping", {}).get(value.get(choice["propertyName"]))
            if chosen is None:
                return [f"{at}.{choice['propertyName']} is none of {sorted(choice['mapping'])}"]
            schema = self.resolve({"$ref": chosen})
        elif "oneOf" in schema and "properties" not in schema:
            tried = [self.problems(one, value, at) for one in schema["oneOf"]]
            return min(tried, key=len)
        kind = schema.get("type") or ("object" if "allOf" in schema else None)
        fits = KINDS.get(kind)
        if fits and (not isinstance(value, fits) or (isinstance(value, bool) and kind != "boolean")):
            return [f"{at} is not a {kind}"]
        found = []
        if "enum" in schema and value not in schema["enum"]:
            found.append(f"{at} is none of {schema['enum']}")
        if isinstance(value, str):
            size = len(value.encode("utf-16-le")) // 2
            found += bounds(at, size, schema.get("minLength"), schema.get("maxLength"))
            if schema.get("format") == "uri" and "://" not in value:
                found.append(f"{at} is not an address")
        elif isinstance(value, list):
            found += bounds(at, len(value), schema.get("minItems"), schema.get("maxItems"))
            for index, item in enumerate(value):
                found += self.problems(schema.get("items", {}), item, f"{at}[{index}]")
        elif isinstance(value, dict):
            found += self.fields(schema, value, at)
        elif isinstance(value, (int, float)):
            found += bounds(at, value, schema.get("minimum"), schema.get("maximum"))
        return found

    def fields(self, schema, value, at):
        properties, required, shut = self.flat(schema)
        found = [f"{at}.{name} is missing" for name in sorted(required - value.keys())]
        for name, item in value.items():
            if name in properties:
                found += self.problems(properties[name], item, f"{at}.{name}")
            elif shut or (self.closed and properties):
                found.append(f"{at}.{name} is not described")
        return found


def bounds(at, size, least, most):
    if least is not None and size < least:
        return [f"{at} is less than {least}"]
    if most is not None and size > most:
        return [f"{at} is more than {most}"]
    return []
