"""Clients of OpenAI's and Anthropic's formats against /v1: one table of requests, and what the model received."""

import base64
import json
import os

os.environ["OPENAI_AGENTS_DISABLE_TRACING"] = "1"

import anthropic
import openai

from gateway import Cases
from v1 import KEY, MODEL, PIXEL, SCHEMA, TOOL, USER, V1, at_once, equal, gateway, holds, model, raises, received


def openai_chat():
    cases = Cases("openai")
    client = openai.OpenAI(max_retries=0)
    create = client.chat.completions.create

    @cases.case("chat: models")
    def _():
        equal([one.id for one in client.models.list()], [MODEL])
        equal(client.models.retrieve(MODEL).id, MODEL)

    @cases.case("chat: plain, with hints that change nothing")
    def _():
        history = [{"role": "system", "content": "be brief"}, USER("one"), {"role": "assistant", "content": "two"}, USER("hello")]
        answer = create(model=MODEL, messages=history, user="u", metadata={"k": "v"}, store=True, service_tier="auto",
                        safety_identifier="s", prompt_cache_key="k", verbosity="low", extra_body={"hologram": 1})
        equal(answer.choices[0].message.content, "Good morning to all of you.")
        equal(answer.choices[0].finish_reason, "stop")
        assert answer.usage.total_tokens > 0
        body = received()
        holds(body["messages"][0]["content"], "be brief")
        equal([m["content"] for m in body["messages"][1:]], ["one", "two", "hello"])

    @cases.case("chat: streamed")
    def _():
        stream = create(model=MODEL, messages=[USER("hello")], stream=True, stream_options={"include_usage": True})
        pieces = list(stream)
        equal("".join(p.choices[0].delta.content or "" for p in pieces if p.choices), "Good morning to all of you.")
        assert pieces[-1].usage.total_tokens > 0

    @cases.case("chat: tools both ways")
    def _():
        first = create(model=MODEL, messages=[USER("weather")], tools=[TOOL], tool_choice="auto", parallel_tool_calls=False)
        call = first.choices[0].message.tool_calls[0]
        equal(first.choices[0].finish_reason, "tool_calls")
        equal(json.loads(call.function.arguments), {"city": "Oslo"})
        equal(received()["parallel_tool_calls"], False)
        messages = [USER("weather"), first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
        second = create(model=MODEL, messages=messages, tools=[TOOL])
        equal(second.choices[0].message.content, "It rains in Oslo.")
        sent = received()["messages"][-1]
        equal(sent["role"], "tool")
        holds(sent["content"], "rain")

    @cases.case("chat: tools streamed")
    def _():
        with client.chat.completions.stream(model=MODEL, messages=[USER("weather")], tools=[TOOL]) as stream:
            final = stream.get_final_completion()
        equal(final.choices[0].message.tool_calls[0].function.name, "weather")

    @cases.case("chat: JSON, both kinds")
    def _():
        fmt = {"type": "json_schema", "json_schema": {"name": "city", "schema": SCHEMA, "strict": True}}
        for response_format in [{"type": "json_object"}, fmt]:
            answer = create(model=MODEL, messages=[USER("as json")], response_format=response_format)
            equal(json.loads(answer.choices[0].message.content), {"city": "Oslo"})
            equal(received()["response_format"]["type"], response_format["type"])

    @cases.case("chat: sampling")
    def _():
        create(model=MODEL, messages=[USER("hello")], temperature=0, top_p=0.5, seed=7, stop=["END"], max_tokens=99,
               presence_penalty=0.5, frequency_penalty=0.5, logit_bias={"1": 1})
        body = received()
        for field, value in dict(temperature=0, top_p=0.5, seed=7, stop=["END"], max_tokens=99, logit_bias={"1": 1}).items():
            equal(body[field], value)

    @cases.case("chat: image")
    def _():
        parts = [{"type": "text", "text": "picture"}, {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}}]
        equal(create(model=MODEL, messages=[USER(parts)]).choices[0].message.content, "One red pixel.")
        holds(json.dumps(received()["messages"][-1]), PIXEL)

    @cases.case("chat: empty texts")
    def _():
        messages = [{"role": "system", "content": ""}, USER("hello"), {"role": "assistant", "content": ""}, USER("hello")]
        equal(create(model=MODEL, messages=messages).choices[0].finish_reason, "stop")

    @cases.case("chat: errors are the client's own")
    def _():
        raises(openai.NotFoundError, lambda: create(model="nobody", messages=[USER("hello")]))
        raises(openai.AuthenticationError, lambda: openai.OpenAI(api_key="no", max_retries=0).models.list())
        error = raises(openai.BadRequestError, lambda: create(model=MODEL, messages=[USER("hello")], n=2))
        equal(error.param, "n")

    @cases.case("chat: 20 concurrent")
    def _():
        at_once(lambda: create(model=MODEL, messages=[USER("hello")]).choices[0].message.content)

    respond = client.responses.create
    tool = {"type": "function", "name": "weather", "description": "Knows the weather.", "parameters": SCHEMA, "strict": True}

    @cases.case("responses: plain")
    def _():
        answer = respond(model=MODEL, instructions="be brief", input="hello", temperature=0)
        equal(answer.output_text, "Good morning to all of you.")
        equal(answer.status, "completed")
        equal(received()["temperature"], 0)

    @cases.case("responses: streamed")
    def _():
        with client.responses.stream(model=MODEL, input="hello") as stream:
            text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
            equal(text, "Good morning to all of you.")
            equal(stream.get_final_response().output_text, text)

    @cases.case("responses: tools both ways")
    def _():
        first = respond(model=MODEL, input="weather", tools=[tool])
        call = next(item for item in first.output if item.type == "function_call")
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "rain"}
        again = respond(model=MODEL, input=[USER("weather"), *first.output, output], tools=[tool])
        equal(again.output_text, "It rains in Oslo.")
        referred = respond(model=MODEL, previous_response_id=first.id, input=[output], tools=[tool])
        equal(referred.output_text, "It rains in Oslo.")

    @cases.case("responses: tools streamed")
    def _():
        with client.responses.stream(model=MODEL, input="weather", tools=[tool]) as stream:
            final = stream.get_final_response()
        equal(next(item for item in final.output if item.type == "function_call").name, "weather")

    @cases.case("responses: JSON and image")
    def _():
        text = {"format": {"type": "json_schema", "name": "city", "schema": SCHEMA, "strict": True}}
        equal(json.loads(respond(model=MODEL, input="as json", text=text).output_text), {"city": "Oslo"})
        parts = [{"type": "input_text", "text": "picture"}, {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "auto"}]
        equal(respond(model=MODEL, input=[USER(parts)]).output_text, "One red pixel.")

    @cases.case("responses: errors")
    def _():
        raises(openai.NotFoundError, lambda: respond(model="nobody", input="hello"))
        raises(openai.BadRequestError, lambda: respond(model=MODEL, input="hello", previous_response_id="resp_x"))

    @cases.case("asynchronous client, 20 concurrent")
    async def _():
        import asyncio
        client = openai.AsyncOpenAI(max_retries=0)
        asks = [client.chat.completions.create(model=MODEL, messages=[USER("hello")]) for _ in range(20)]
        for answer in await asyncio.gather(*asks):
            equal(answer.choices[0].message.content, "Good morning to all of you.")
        await client.close()


def anthropic_messages():
    cases = Cases("anthropic")
    client = anthropic.Anthropic(max_retries=0)
    create = client.messages.create
    tool = {"name": "weather", "description": "Knows the weather.", "input_schema": SCHEMA}
    base = {"model": MODEL, "max_tokens": 500}

    @cases.case("plain")
    def _():
        answer = create(**base, messages=[USER("hello")], system="be brief", extra_body={"temperature": 0}, stop_sequences=["END"], metadata={"user_id": "u"})
        equal(answer.content[0].text, "Good morning to all of you.")
        equal(answer.stop_reason, "end_turn")
        body = received()
        holds(body["messages"][0]["content"], "be brief")
        equal((body["temperature"], body["stop"], body["max_tokens"]), (0, ["END"], 500))

    @cases.case("streamed")
    def _():
        with client.messages.stream(**base, messages=[USER("hello")]) as stream:
            equal("".join(stream.text_stream), "Good morning to all of you.")
            assert stream.get_final_message().usage.output_tokens > 0

    @cases.case("tools both ways")
    def _():
        first = create(**base, messages=[USER("weather")], tools=[tool], tool_choice={"type": "any"})
        call = next(block for block in first.content if block.type == "tool_use")
        equal((first.stop_reason, call.input), ("tool_use", {"city": "Oslo"}))
        equal(received()["tool_choice"], "required")
        result = {"type": "tool_result", "tool_use_id": call.id, "content": "rain", "cache_control": {"type": "ephemeral"}}
        messages = [USER("weather"), {"role": "assistant", "content": first.content}, USER([result])]
        equal(create(**base, messages=messages, tools=[tool]).content[0].text, "It rains in Oslo.")

    @cases.case("tools streamed")
    def _():
        with client.messages.stream(**base, messages=[USER("weather")], tools=[tool]) as stream:
            final = stream.get_final_message()
        equal(next(block for block in final.content if block.type == "tool_use").input, {"city": "Oslo"})

    @cases.case("image")
    def _():
        source = {"type": "base64", "media_type": "image/png", "data": PIXEL}
        parts = [{"type": "image", "source": source}, {"type": "text", "text": "picture"}]
        equal(create(**base, messages=[USER(parts)]).content[0].text, "One red pixel.")

    @cases.case("models and token counts")
    def _():
        equal([one.id for one in client.models.list()], [MODEL])
        assert client.messages.count_tokens(model=MODEL, messages=[USER("hello")]).input_tokens > 0

    @cases.case("errors are the client's own")
    def _():
        raises(anthropic.NotFoundError, lambda: create(model="nobody", max_tokens=5, messages=[USER("hello")]))
        raises(anthropic.AuthenticationError, lambda: anthropic.Anthropic(api_key="no", max_retries=0).messages.create(**base, messages=[USER("hello")]))
        raises(anthropic.BadRequestError, lambda: create(**base, messages=[USER("hello")], extra_body={"temperature": 3}))

    @cases.case("20 concurrent")
    def _():
        at_once(lambda: create(**base, messages=[USER("hello")]).content[0].text)


def langchain():
    from langchain_anthropic import ChatAnthropic
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class City(BaseModel):
        """A city."""

        city: str

    @tool
    def weather(city: str) -> str:
        """Knows the weather."""
        return f"rain in {city}"

    for package, made in {
        "langchain-openai": lambda **more: ChatOpenAI(model=MODEL, max_retries=0, **more),
        "langchain-anthropic": lambda **more: ChatAnthropic(model=MODEL, max_retries=0, max_tokens=200, **more),
    }.items():
        cases = Cases(package)

        @cases.case("plain, temperature=0")
        def _():
            equal(made(temperature=0).invoke("hello").text, "Good morning to all of you.")
            equal(received()["temperature"], 0)

        @cases.case("streamed")
        def _():
            equal("".join(piece.text for piece in made().stream("hello")), "Good morning to all of you.")

        @cases.case("tools both ways")
        def _():
            bound = made().bind_tools([weather])
            first = bound.invoke("weather")
            equal(first.tool_calls[0]["args"], {"city": "Oslo"})
            result = weather.invoke(first.tool_calls[0])
            assert isinstance(result, ToolMessage)
            equal(bound.invoke([HumanMessage("weather"), first, result]).text, "It rains in Oslo.")
            holds(received()["messages"][-1]["content"], "rain in Oslo")

        if package == "langchain-openai":
            @cases.case("structured output, by schema and by JSON mode")
            def _():
                for method in ["json_schema", "json_mode"]:
                    equal(made().with_structured_output(City, method=method).invoke("as json").city, "Oslo")

            @cases.case("responses format")
            def _():
                equal(made(use_responses_api=True).invoke("hello").text, "Good morning to all of you.")

        @cases.case("20 concurrent")
        def _():
            for answer in made().batch(["hello"] * 20):
                equal(answer.text, "Good morning to all of you.")


def pydantic_ai():
    from pydantic import BaseModel
    from pydantic_ai import Agent, BinaryContent, NativeOutput
    from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel

    cases = Cases("pydantic-ai-slim")

    class City(BaseModel):
        city: str

    # Its AnthropicModel does not work with the newest version of the package anthropic.
    for kind in [OpenAIChatModel, OpenAIResponsesModel]:
        name = kind.__name__

        @cases.case(f"{name}: plain, temperature=0")
        async def _():
            answer = await Agent(kind(MODEL)).run("hello", model_settings={"temperature": 0})
            equal(answer.output, "Good morning to all of you.")
            equal(received()["temperature"], 0)

        @cases.case(f"{name}: streamed")
        async def _():
            async with Agent(kind(MODEL)).run_stream("hello") as stream:
                equal(await stream.get_output(), "Good morning to all of you.")

        @cases.case(f"{name}: the client's tool is run")
        async def _():
            ran = []

            def weather(city: str) -> str:
                """Knows the weather."""
                ran.append(city)
                return "rain"

            answer = await Agent(kind(MODEL), tools=[weather]).run("weather")
            equal((answer.output, ran), ("It rains in Oslo.", ["Oslo"]))

        @cases.case(f"{name}: image")
        async def _():
            image = BinaryContent(data=base64.b64decode(PIXEL), media_type="image/png")
            equal((await Agent(kind(MODEL)).run(["picture", image])).output, "One red pixel.")

        @cases.case(f"{name}: JSON")
        async def _():
            answer = await Agent(kind(MODEL), output_type=NativeOutput(City)).run("as json")
            equal(answer.output.city, "Oslo")


def openai_agents():
    import agents

    cases = Cases("openai-agents")
    agents.set_tracing_disabled(True)

    def fresh(kind, **more):
        client = openai.AsyncOpenAI(max_retries=0)
        return agents.Agent(name="a", instructions="be brief", model=kind(model=MODEL, openai_client=client), **more)

    for kind in [agents.OpenAIChatCompletionsModel, agents.OpenAIResponsesModel]:
        name = kind.__name__

        @cases.case(f"{name}: plain")
        async def _():
            settings = agents.ModelSettings(temperature=0)
            answer = await agents.Runner.run(fresh(kind, model_settings=settings), "hello")
            equal(answer.final_output, "Good morning to all of you.")
            equal(received()["temperature"], 0)

        @cases.case(f"{name}: streamed")
        async def _():
            stream = agents.Runner.run_streamed(fresh(kind), "hello")
            async for _event in stream.stream_events():
                pass
            equal(stream.final_output, "Good morning to all of you.")

        @cases.case(f"{name}: the client's tool is run")
        async def _():
            ran = []

            @agents.function_tool
            def weather(city: str) -> str:
                """Knows the weather."""
                ran.append(city)
                return "rain"

            answer = await agents.Runner.run(fresh(kind, tools=[weather]), "weather")
            equal((answer.final_output, ran), ("It rains in Oslo.", ["Oslo"]))


def llm_program():
    import pathlib
    import subprocess
    import sys
    import tempfile

    cases = Cases("llm")
    folder = tempfile.TemporaryDirectory(prefix="llm-")
    settings = f"- model_id: here\n  model_name: {MODEL}\n  api_base: {V1}\n  api_key_name: here\n  supports_tools: true\n  supports_schema: true\n  vision: true\n"
    pathlib.Path(folder.name, "extra-openai-models.yaml").write_text(settings)
    program = pathlib.Path(sys.executable).with_name("llm")

    def run(*arguments):
        ran = subprocess.run([program, "-m", "here", "--key", KEY, *arguments], env={**os.environ, "LLM_USER_PATH": folder.name},
                             stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=60)
        assert ran.returncode == 0, ran.stderr
        return ran.stdout.strip()

    @cases.case("plain, temperature=0")
    def _():
        equal(run("hello", "-o", "temperature", "0", "-s", "be brief"), "Good morning to all of you.")
        equal(received()["temperature"], 0)

    @cases.case("not streamed")
    def _():
        equal(run("hello", "--no-stream"), "Good morning to all of you.")

    @cases.case("the client's tool is run")
    def _():
        functions = 'def weather(city: str) -> str:\n    "Knows the weather."\n    return "rain"\n'
        equal(run("weather", "--functions", functions), "It rains in Oslo.")

    @cases.case("schema")
    def _():
        equal(json.loads(run("as json", "--schema", json.dumps(SCHEMA))), {"city": "Oslo"})

    @cases.case("image")
    def _():
        image = pathlib.Path(folder.name, "pixel.png")
        image.write_bytes(base64.b64decode(PIXEL))
        equal(run("picture", "-a", str(image)), "One red pixel.")


with model, gateway:
    for suite in [openai_chat, anthropic_messages, langchain, pydantic_ai, openai_agents, llm_program]:
        suite()
