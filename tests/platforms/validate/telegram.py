"""Telegram: the description of the Bot API, its methods and types with their fields."""

import json
import re


def checker(data):
    described = json.loads((data / "platforms/telegram-bot-api.json").read_text())
    methods, types = described["methods"], described["types"]
    emoji = next(f for f in types["ReactionTypeEmoji"]["fields"] if f["name"] == "emoji")
    reactions = set(re.findall(r'"([^"]+)"', emoji["description"]))

    def fits(kind, value):
        """What is wrong with a value of a type; nothing if it is right."""
        if kind.startswith("Array of "):
            if not isinstance(value, list):
                return [f"{value!r} is no list"]
            return [p for one in value for p in fits(kind.removeprefix("Array of "), one)]
        if kind == "InputFile":
            good = isinstance(value, dict) and set(value) == {"$file"}
            return [] if good else [f"{value!r} is no file"]
        plain = {"Integer": int, "String": str, "Boolean": bool, "Float": (int, float)}
        if kind in plain:
            wrong = not isinstance(value, plain[kind]) or (kind == "Integer" and isinstance(value, bool))
            return [f"{value!r} is no {kind}"] if wrong else []
        if kind not in types:
            return [f"unknown type {kind}"]
        if types[kind].get("subtypes"):
            return either(types[kind]["subtypes"], value)
        if not isinstance(value, dict):
            return [f"{value!r} is no {kind}"]
        problems = fields(types[kind].get("fields", []), value)
        if kind == "ReactionTypeEmoji" and value.get("emoji") not in reactions:
            problems.append(f"no reaction {value.get('emoji')!r}")
        said = next((f for f in types[kind].get("fields", []) if f["name"] == "type"), None)
        always = re.search(r'always "([^"]+)"', said["description"]) if said else None
        if always and value.get("type") != always[1]:
            problems.append(f"type is not {always[1]}")
        return problems

    def either(kinds, value):
        all_problems = [fits(kind, value) for kind in kinds]
        return min(all_problems, key=len)

    def fields(known, body):
        known = {one["name"]: one for one in known}
        problems = [f"unknown field {name}" for name in body if name not in known]
        for name, field in known.items():
            if name in body:
                problems += [f"{name}: {p}" for p in either(field["types"], body[name])]
                problems += length(field, body)
            elif field["required"]:
                problems.append(f"missing field {name}")
        return problems

    def length(field, body):
        """What the words of a description say of lengths, where that can be counted here."""
        name, value = field["name"], body[field["name"]]
        if not isinstance(value, str) or "after entities parsing" in field["description"]:
            return []
        size = re.search(r"(\d+)-(\d+) (bytes|characters)", field["description"])
        if not size:
            return []
        count = len(value.encode()) if size[3] == "bytes" else len(value.encode("utf-16-le")) // 2
        good = int(size[1]) <= count <= int(size[2])
        return [] if good else [f"{name} has {count} {size[3]}"]

    def check(record):
        path = record["path"].removeprefix("/")
        if path.startswith("file/"):
            return None
        if path not in methods:
            return ["no such method"]
        problems = [] if record["method"] in ("GET", "POST") else [f"is no {record['method']}"]
        return problems + fields(methods[path].get("fields", []), record["body"])

    return check
