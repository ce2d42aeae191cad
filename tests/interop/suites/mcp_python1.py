"""Python MCP clients of the SDK's first generation against `/mcp`, `/mcp/{server}` and `manyhands mcp`."""

import asyncio
import contextlib

from gateway import BINARY, INTEROP, Cases, Gateway
from langchain_mcp_adapters.client import MultiServerMCPClient
from machine import node
from mcp import ClientSession, McpError, StdioServerParameters, types
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamablehttp_client

EVERYTHING = INTEROP / "node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"
SETTINGS = f"""
[[policy.rules]]
decision = "allow"

[mcpServers.everything]
command = "node"
args = ["{EVERYTHING}", "stdio"]
asks = true
"""
LIMIT = 60


@contextlib.asynccontextmanager
async def http(gateway, path, **more):
    headers = {"Authorization": f"Bearer {gateway.token}"}
    async with streamablehttp_client(gateway.url + path, headers=headers) as (read, write, session_id):
        async with ClientSession(read, write, **more) as session:
            await session.initialize()
            assert session_id(), "a session was given"
            yield session


def stdio(gateway):
    environment = {**gateway.environment, "MANYHANDS_TOKEN": gateway.token, "MANYHANDS_URL": gateway.url}
    return {"command": BINARY, "args": ["mcp", "--profile", "all"], "env": environment}


async def everyday(session):
    names = [tool.name for tool in (await session.list_tools()).tools]
    assert "gsv__WriteFile" in names, names
    written = await session.call_tool("gsv__WriteFile", {"path": "one.md", "content": "hällo"})
    assert not written.isError, written
    read = await session.call_tool("gsv__ReadFile", {"path": "one.md"})
    assert read.structuredContent["content"] == "hällo", read
    missing = await session.call_tool("gsv__ReadFile", {"path": "nowhere.md"})
    assert missing.isError and "file not found" in missing.content[0].text, missing
    try:
        await session.call_tool("gsv__Nothing", {})
    except McpError as error:
        assert error.error.code == -32602, error.error
    else:
        raise AssertionError("an unknown tool was called")
    calls = [session.call_tool("gsv__ReadFile", {"path": "one.md"}) for _ in range(20)]
    assert not any(done.isError for done in await asyncio.gather(*calls))


with Gateway(SETTINGS) as gateway:
    gateway.request("POST", "/api/servers/everything/refresh")
    official = Cases("mcp")

    @official.case("lists, calls, fails and makes 20 calls at once over HTTP")
    async def _():
        async with http(gateway, "/mcp?profile=all") as session:
            await everyday(session)

    @official.case("the same over standard streams")
    async def _():
        async with stdio_client(StdioServerParameters(**stdio(gateway))) as (read, write):
            async with ClientSession(read, write) as session:
                await session.initialize()
                await everyday(session)

    @official.case("is told that tools changed")
    async def _():
        changes = asyncio.Queue()

        async def heard(message):
            if isinstance(message, types.ServerNotification) and isinstance(message.root, types.ToolListChangedNotification):
                changes.put_nowait(message)

        async with http(gateway, "/mcp?profile=all", message_handler=heard) as session:
            await session.list_tools()
            with node(gateway):
                await asyncio.wait_for(changes.get(), LIMIT)
                assert "laptop__Read" in [tool.name for tool in (await session.list_tools()).tools]
            await asyncio.wait_for(changes.get(), LIMIT)

    @official.case("a server asks through the gateway")
    async def _():
        async def elicit(_, params):
            return types.ElicitResult(action="accept", content={"name": "Ada", "check": True})

        async with http(gateway, "/mcp/everything", elicitation_callback=elicit) as session:
            asked = await session.call_tool("trigger-elicitation-request", {})
            assert "accept" in str(asked.content), asked

    chain = Cases("langchain-mcp-adapters")

    @chain.case("loads tools and calls them over HTTP and standard streams")
    async def _():
        headers = {"Authorization": f"Bearer {gateway.token}"}
        client = MultiServerMCPClient({
            "http": {"transport": "streamable_http", "url": gateway.url + "/mcp?profile=all", "headers": headers},
            "one": {"transport": "streamable_http", "url": gateway.url + "/mcp/everything", "headers": headers},
            "stdio": {"transport": "stdio", **stdio(gateway)},
        })
        for server, name, arguments, words in [
            ("http", "gsv__WriteFile", {"path": "chain.md", "content": "chained"}, "chain.md"),
            ("stdio", "gsv__ReadFile", {"path": "chain.md"}, "chained"),
            ("one", "echo", {"message": "hi"}, "Echo: hi"),
        ]:
            tools = {tool.name: tool for tool in await client.get_tools(server_name=server)}
            said = await tools[name].ainvoke(arguments)
            assert words in str(said), said
