"""What the Python suites of /v1 share: a gateway with a scripted model, and what that received."""

import base64
import concurrent.futures
import os
import struct
import zlib

from gateway import Gateway, Model

MODEL = "agent/main"


def pixel():
    """A PNG of one pixel."""
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    parts = chunk(b"IHDR", struct.pack(">IIBBBBB", 1, 1, 8, 2, 0, 0, 0)), chunk(b"IDAT", zlib.compress(b"\0\xff\0\0"))
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"".join(parts) + chunk(b"IEND", b"")).decode()


PIXEL = pixel()
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}
FIXTURES = [
    {"match": {"hasToolResult": True}, "response": {"content": "It rains in Oslo."}},
    {"match": {"userMessage": "weather"}, "response": {"toolCalls": [{"id": "call_1", "name": "weather", "arguments": {"city": "Oslo"}}]}},
    {"match": {"userMessage": "as json"}, "response": {"content": '{"city":"Oslo"}'}},
    {"match": {"userMessage": "picture"}, "response": {"content": "One red pixel."}},
    {"match": {"userMessage": "hello"}, "response": {"content": "Good morning to all of you."}},
]

model = Model(FIXTURES)
gateway = Gateway(f'''
[models]
default = "there/gpt-4o"
[models.providers.there]
kind = "openai"
base_url = "{model.url}/v1"
''')
KEY = gateway.token
V1 = f"{gateway.url}/v1"
os.environ.update(OPENAI_API_KEY=KEY, OPENAI_BASE_URL=V1, ANTHROPIC_API_KEY=KEY, ANTHROPIC_BASE_URL=gateway.url)


def received():
    """The last request as the model received it."""
    return [entry for entry in model.journal() if entry["method"] == "POST"][-1]["body"]


def equal(found, wanted):
    assert found == wanted, f"{found!r} instead of {wanted!r}"


def holds(text, part):
    assert part in text, f"{part!r} is not in {text!r}"


def at_once(ask):
    """Twenty requests at the same time."""
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        for text in pool.map(lambda _: ask(), range(20)):
            equal(text, "Good morning to all of you.")


def raises(kind, function):
    try:
        function()
    except kind as error:
        return error
    raise AssertionError(f"no {kind.__name__}")


TOOL = {"type": "function", "function": {"name": "weather", "description": "Knows the weather.", "parameters": SCHEMA}}
USER = lambda text: {"role": "user", "content": text}
