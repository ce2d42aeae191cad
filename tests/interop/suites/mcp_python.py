"""Python MCP clients against `/mcp`, `/mcp/{server}` and `manyhands mcp`."""

import asyncio
import contextlib
import pathlib
import time

import httpx2
import mcp_types as types
from fastmcp import Client as FastClient
from fastmcp.client.transports import StdioTransport, StreamableHttpTransport
from gateway import BINARY, INTEROP, Cases, Gateway
from machine import node
from mcp import Client, StdioServerParameters
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.exceptions import MCPError

EVERYTHING = INTEROP / "node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
SETTINGS = f"""
[[policy.rules]]
decision = "allow"

[mcpServers.everything]
command = "node"
args = ["{EVERYTHING}", "stdio"]
asks = true
"""
PAGE = "interop.md"
LIMIT = 60


def running(mark):
    """Whether a program with this mark in its command line runs."""
    lines = (file.read_bytes() for file in pathlib.Path("/proc").glob("[0-9]*/cmdline") if file.exists())
    with contextlib.suppress(OSError):
        return any(mark.encode() in line for line in lines)
    return False


async def until(what, holds):
    end = time.monotonic() + LIMIT
    while not holds():
        assert time.monotonic() < end, f"{what} did not happen"
        await asyncio.sleep(0.05)


def lingering(mark):
    return {"cmd": f"exec -a {mark} sleep 300", "timeout_seconds": 25}


@contextlib.asynccontextmanager
async def http(gateway, path, mode, **more):
    """The official client over HTTP."""
    headers = {"Authorization": f"Bearer {gateway.token}"}
    async with httpx2.AsyncClient(headers=headers, timeout=httpx2.Timeout(30, read=300)) as client:
        transport = streamable_http_client(gateway.url + path, http_client=client)
        async with Client(transport, mode=mode, **more) as session:
            yield session


def stdio(gateway):
    environment = {**gateway.environment, "MANYHANDS_TOKEN": gateway.token, "MANYHANDS_URL": gateway.url}
    return {"command": BINARY, "args": ["mcp", "--profile", "all"], "env": environment}


async def everyday(session):
    """Lists, calls, fails and is refused, as a client sees it."""
    tools = await session.list_tools()
    names = [tool.name for tool in getattr(tools, "tools", tools)]
    assert "gsv__WriteFile" in names, names
    written = await session.call_tool("gsv__WriteFile", {"path": PAGE, "content": "hällo"})
    assert not written.is_error, written
    read = await session.call_tool("gsv__ReadFile", {"path": PAGE})
    assert read.structured_content["content"] == "hällo", read
    missing = await session.call_tool("gsv__ReadFile", {"path": "nowhere.md"})
    assert missing.is_error and "file not found" in missing.content[0].text, missing
    try:
        await session.call_tool("gsv__Nothing", {})
    except MCPError as error:
        assert error.error.code == -32602, error.error
    else:
        raise AssertionError("an unknown tool was called")


async def twenty(session):
    calls = [session.call_tool("gsv__WriteFile", {"path": f"c{at}.md", "content": str(at)}) for at in range(20)]
    assert not any(done.is_error for done in await asyncio.gather(*calls))
    reads = await asyncio.gather(*(session.call_tool("gsv__ReadFile", {"path": f"c{at}.md"}) for at in range(20)))
    assert [read.structured_content["content"] for read in reads] == [str(at) for at in range(20)]


async def cancels(session, mark):
    """A call that is abandoned ends, and the one beside it does not."""
    first = asyncio.create_task(session.call_tool("bash", lingering(f"{mark}-first")))
    second = asyncio.create_task(session.call_tool("bash", lingering(f"{mark}-second")))
    await until("both run", lambda: running(f"{mark}-first") and running(f"{mark}-second"))
    first.cancel()
    await until("the cancelled one is gone", lambda: not running(f"{mark}-first"))
    assert running(f"{mark}-second"), "the other one goes on"
    second.cancel()
    await until("so is the other", lambda: not running(f"{mark}-second"))


async def told(gateway, session, changes):
    """Is told that tools came and went."""
    with node(gateway):
        await asyncio.wait_for(changes.get(), LIMIT)
        names = [tool.name for tool in (await session.list_tools()).tools]
        assert "laptop__Read" in names
    await asyncio.wait_for(changes.get(), LIMIT)
    await until("the node is gone", lambda: not gateway.request("GET", "/api/nodes")[1]["result"]["nodes"][0]["online"])
    assert "laptop__Read" not in [tool.name for tool in (await session.list_tools()).tools]


async def elicit(_, params):
    return types.ElicitResult(action="accept", content={"name": "Ada", "check": True})


async def sample(_, params):
    text = types.TextContent(type="text", text="words of a model")
    return types.CreateMessageResult(role="assistant", content=text, model="scripted")


async def through(gateway, mode):
    """What server-everything asks, logs and tells through `/mcp/{server}`."""
    logged, steps = [], []

    async def log(params):
        logged.append(params)

    async def step(progress, total, message):
        steps.append((progress, total))

    more = dict(elicitation_callback=elicit, sampling_callback=sample, logging_callback=log)
    async with http(gateway, "/mcp/everything", mode, **more) as session:
        names = [tool.name for tool in (await session.list_tools()).tools]
        assert "echo" in names, names
        echoed = await session.call_tool("echo", {"message": "hi"})
        assert echoed.content[0].text == "Echo: hi", echoed
        asked = await session.call_tool("trigger-elicitation-request", {})
        assert "accept" in str(asked.content), asked
        sampled = await session.call_tool("trigger-sampling-request", {"prompt": "hello", "maxTokens": 10})
        assert "words of a model" in str(sampled.content), sampled
        await session.call_tool("trigger-long-running-operation", {"duration": 1, "steps": 2}, progress_callback=step)
        assert len(steps) >= 2, steps
        if mode == "legacy":
            await session.set_logging_level("debug")
            await session.call_tool("toggle-simulated-logging", {})
            await until("it logs", lambda: logged)


with Gateway(SETTINGS) as gateway:
    gateway.request("POST", "/api/servers/everything/refresh")
    official = Cases("mcp")
    for mode in ("legacy", "2026-07-28"):

        @official.case(f"{mode}: lists, calls and fails over HTTP")
        async def _():
            async with http(gateway, "/mcp?profile=all", mode) as session:
                await everyday(session)

        @official.case(f"{mode}: 20 calls at once")
        async def _():
            async with http(gateway, "/mcp?profile=all", mode) as session:
                await twenty(session)

        @official.case(f"{mode}: a cancelled call ends")
        async def _():
            async with http(gateway, "/mcp?profile=all", mode) as session:
                await cancels(session, f"interop-{mode}")

        @official.case(f"{mode}: a server asks, logs and tells its progress through the gateway")
        async def _():
            await through(gateway, mode)

        @official.case(f"{mode}: the same over standard streams")
        async def _():
            async with Client(StdioServerParameters(**stdio(gateway)), mode=mode) as session:
                await everyday(session)
                await twenty(session)
                await cancels(session, f"interop-stdio-{mode}")

    @official.case("legacy: is told that tools changed")
    async def _():
        changes = asyncio.Queue()

        async def heard(message):
            if isinstance(message, types.ToolListChangedNotification):
                changes.put_nowait(message)

        async with http(gateway, "/mcp?profile=all", "legacy", message_handler=heard) as session:
            await session.list_tools()
            await told(gateway, session, changes)

    @official.case("2026-07-28: is told that tools changed")
    async def _():
        async with http(gateway, "/mcp?profile=all", "2026-07-28") as session:
            changes = asyncio.Queue()

            async def follow():
                async with session.listen(tools_list_changed=True) as events:
                    changes.put_nowait("open")
                    async for event in events:
                        changes.put_nowait(event)

            following = asyncio.create_task(follow())
            assert await asyncio.wait_for(changes.get(), LIMIT) == "open"
            await told(gateway, session, changes)
            following.cancel()

    @official.case("legacy: a session outlives a restart of the gateway")
    async def _():
        async with http(gateway, "/mcp?profile=all", "legacy") as session:
            await session.list_tools()
            await asyncio.to_thread(gateway.restart)
            await everyday(session)

    fast = Cases("fastmcp")

    @fast.case("lists, calls and fails over HTTP")
    async def _():
        transport = StreamableHttpTransport(gateway.url + "/mcp?profile=all", auth=gateway.token)
        async with FastClient(transport) as client:
            names = [tool.name for tool in await client.list_tools()]
            assert "gsv__ReadFile" in names
            done = await client.call_tool("gsv__WriteFile", {"path": "fast.md", "content": "x"})
            assert done.structured_content["written"], done
            missing = await client.call_tool("gsv__ReadFile", {"path": "nowhere.md"}, raise_on_error=False)
            assert missing.is_error, missing

    @fast.case("lists and calls over standard streams")
    async def _():
        async with FastClient(StdioTransport(**stdio(gateway))) as client:
            done = await client.call_tool("gsv__ReadFile", {"path": "fast.md"})
            assert done.structured_content["content"] == "x", done

    @fast.case("a server asks through the gateway")
    async def _():
        async def elicited(message, response_type, params, context):
            return {"name": "Ada"}

        transport = StreamableHttpTransport(gateway.url + "/mcp/everything", auth=gateway.token)
        async with FastClient(transport, elicitation_handler=elicited) as client:
            asked = await client.call_tool("trigger-elicitation-request", {})
            assert "accept" in str(asked.content), asked
