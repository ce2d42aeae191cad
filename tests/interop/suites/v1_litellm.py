"""litellm against /v1, in both formats. It does not go with the newest version of the package openai."""

import json
import os

os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # nothing is fetched

import litellm

from gateway import Cases
from v1 import KEY, MODEL, PIXEL, TOOL, USER, V1, at_once, equal, gateway, model, raises, received

cases = Cases("litellm")
litellm.suppress_debug_info = True
routes = {
    "openai": dict(model=f"openai/{MODEL}", api_base=V1, api_key=KEY),
    "anthropic": dict(model=f"anthropic/{MODEL}", api_base=gateway.url, api_key=KEY, max_tokens=200),
}
for name, route in routes.items():
    complete = lambda route=route, **more: litellm.completion(**route, num_retries=0, **more)

    @cases.case(f"{name}: plain, temperature=0")
    def _():
        equal(complete(messages=[USER("hello")], temperature=0).choices[0].message.content, "Good morning to all of you.")
        equal(received()["temperature"], 0)

    @cases.case(f"{name}: streamed")
    def _():
        pieces = complete(messages=[USER("hello")], stream=True)
        equal("".join(p.choices[0].delta.content or "" for p in pieces), "Good morning to all of you.")

    @cases.case(f"{name}: tools both ways")
    def _():
        first = complete(messages=[USER("weather")], tools=[TOOL])
        message = first.choices[0].message
        call = message.tool_calls[0]
        equal(json.loads(call.function.arguments), {"city": "Oslo"})
        messages = [USER("weather"), message.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
        equal(complete(messages=messages, tools=[TOOL]).choices[0].message.content, "It rains in Oslo.")

    @cases.case(f"{name}: image")
    def _():
        parts = [{"type": "text", "text": "picture"}, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]
        equal(complete(messages=[USER(parts)]).choices[0].message.content, "One red pixel.")

    @cases.case(f"{name}: errors")
    def _():
        raises(litellm.NotFoundError, lambda: litellm.completion(**{**route, "model": f"{name}/nobody"}, messages=[USER("hello")]))
        raises(litellm.AuthenticationError, lambda: litellm.completion(**{**route, "api_key": "no"}, messages=[USER("hello")]))

    @cases.case(f"{name}: 20 concurrent")
    def _():
        at_once(lambda: complete(messages=[USER("hello")]).choices[0].message.content)

@cases.case("openai: JSON")
def _():
    answer = litellm.completion(**routes["openai"], messages=[USER("as json")], response_format={"type": "json_object"})
    equal(json.loads(answer.choices[0].message.content), {"city": "Oslo"})

@cases.case("responses")
def _():
    answer = litellm.responses(**routes["openai"], input="hello")
    equal(answer.output[0].content[0].text, "Good morning to all of you.")

gateway.stop()
model.__exit__()
