"""LINE: the OpenAPI descriptions of the Messaging API and of what it tells webhooks."""

import json

from openapi import Description


def checker(data):
    api = Description(data / "platforms/line-messaging-api.yml", closed=True)
    hooks = Description(data / "platforms/line-webhook.yml", closed=True)

    def check(record):
        if record["method"] == "WEBHOOK":
            told = json.loads(record["body"]["raw"])
            return hooks.problems(hooks.schema("CallbackRequest"), told)
        operation = api.operation(record["path"], record["method"])
        if operation is None:
            return ["is not described"]
        schema = api.body(operation, "application/json")
        if schema is None:
            return [] if record["body"] is None else ["takes no body"]
        if not record["content_type"].startswith("application/json"):
            return [f"does not take {record['content_type']}"]
        return api.problems(schema, record["body"])

    return check
