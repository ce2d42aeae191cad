"""WebSocket clients on /ws: login, calls, pings, large and pipelined messages, and both ways to close."""

import asyncio
import contextlib
import json
import struct

from gateway import Cases, Gateway

PIPELINED = 2_000
LARGE = 3_000_000


def request(id, method, params=None):
    return json.dumps({"type": "req", "id": id, "method": method, "params": params or {}})


def connect(token):
    client = {"id": "interop", "version": "1", "platform": "test", "mode": "client"}
    return request("connect", "connect", {"minProtocol": 1, "maxProtocol": 1, "client": client, "auth": {"token": token}})


def read_file(id, path):
    return request(id, "tool.invoke", {"tool": "gsv__ReadFile", "args": {"path": path}})


def expect(seen, wanted, what="value"):
    if seen != wanted:
        raise AssertionError(f"{what} is {seen!r}, not {wanted!r}")


class Peer:
    """What the cases need of a client: each package has its own way."""

    async def send(self, text): ...
    async def send_binary(self, data): ...
    async def receive(self): ...
    async def ping(self): ...
    async def close(self, code): ...
    async def closed(self): ...

    async def answer(self, id):
        while True:
            frame = json.loads(await self.receive())
            if frame["type"] == "res" and frame["id"] == id:
                return frame


def suite(package, opened):
    """The same cases with each package. `opened(url)` is an async context with a `Peer`."""
    cases = Cases(package)

    @contextlib.asynccontextmanager
    async def logged_in(token=None):
        async with opened(gateway.url.replace("http", "ws") + "/ws") as peer:
            await peer.send(connect(token or gateway.token))
            hello = await peer.answer("connect")
            expect(hello["payload"]["type"], "hello-ok")
            yield peer

    @cases.case("logs in and calls a tool")
    async def _():
        async with logged_in() as peer:
            await peer.send(read_file("1", "note.md"))
            answer = await peer.answer("1")
            expect(answer["payload"]["result"]["content"], "a note\n")

    @cases.case("gets an answer to each of 2,000 pipelined requests")
    async def _():
        async with logged_in() as peer:
            for at in range(PIPELINED):
                await peer.send(read_file(str(at), "note.md"))
            missing = {str(at) for at in range(PIPELINED)}
            while missing:
                frame = json.loads(await peer.receive())
                if frame["type"] == "res":
                    expect(frame["ok"], True, frame)
                    missing.remove(frame["id"])

    @cases.case("gets pongs before and after login")
    async def _():
        async with opened(gateway.url.replace("http", "ws") + "/ws") as peer:
            await peer.ping()
            await peer.send(connect(gateway.token))
            await peer.answer("connect")
            await peer.ping()

    @cases.case("sends and receives a large message")
    async def _():
        text = "größe " * (LARGE // 8)
        async with logged_in() as peer:
            await peer.send(request("w", "workspace.write", {"path": "large.md", "content": text}))
            expect((await peer.answer("w"))["ok"], True)
            await peer.send(request("r", "workspace.read", {"path": "large.md"}))
            expect((await peer.answer("r"))["ok"], True)

    @cases.case("closes, and its code comes back")
    async def _():
        async with logged_in() as peer:
            expect(await peer.close(4321), 4321, "the code")

    @cases.case("closes before login")
    async def _():
        async with opened(gateway.url.replace("http", "ws") + "/ws") as peer:
            expect(await peer.close(1000), 1000, "the code")

    @cases.case("is closed with 4001 when its token is revoked")
    async def _():
        _, made = gateway.request("POST", "/api/tokens", {"name": package, "role": "client"})
        made = made["result"]
        async with logged_in(made["token"]) as peer:
            status, _ = await asyncio.to_thread(gateway.request, "DELETE", f"/api/tokens/{made['record']['id']}")
            expect(status, 200)
            expect(await peer.closed(), 4001, "the code")

    @cases.case("is closed with 1003 for a binary message")
    async def _():
        async with logged_in() as peer:
            await peer.send_binary(b"\1\2\3\4\5")
            expect(await peer.closed(), 1003, "the code")


def with_websockets():
    import websockets

    class Its(Peer):
        def __init__(self, socket):
            self.socket = socket
            self.send = socket.send
            self.send_binary = socket.send
            self.receive = socket.recv

        async def ping(self):
            await asyncio.wait_for(await self.socket.ping(b"there?"), 10)

        async def close(self, code):
            await self.socket.close(code)
            return self.socket.close_code

        async def closed(self):
            with contextlib.suppress(websockets.ConnectionClosed):
                while True:
                    await self.socket.recv()
            return self.socket.close_code

    @contextlib.asynccontextmanager
    async def opened(url):
        async with websockets.connect(url, max_size=None) as socket:
            yield Its(socket)

    suite("websockets", opened)


def with_aiohttp():
    import aiohttp

    class Its(Peer):
        def __init__(self, socket):
            self.socket = socket
            self.send = socket.send_str
            self.send_binary = socket.send_bytes

        async def message(self, kind):
            while True:
                message = await self.socket.receive(60)
                if message.type == aiohttp.WSMsgType.PING:
                    await self.socket.pong(message.data)
                else:
                    expect(message.type, kind)
                    return message.data

        async def receive(self):
            return await self.message(aiohttp.WSMsgType.TEXT)

        async def ping(self):
            await self.socket.ping(b"there?")
            expect(await self.message(aiohttp.WSMsgType.PONG), b"there?")

        async def close(self, code):
            await self.socket.close(code=code)
            return self.socket.close_code

        async def closed(self):
            async for _ in self.socket:
                pass
            return self.socket.close_code

    @contextlib.asynccontextmanager
    async def opened(url):
        async with aiohttp.ClientSession() as session:
            async with session.ws_connect(url, autoping=False, max_msg_size=0) as socket:
                yield Its(socket)

    suite("aiohttp", opened)


def with_websocket_client():
    import websocket

    class Its(Peer):
        def __init__(self, socket):
            self.socket = socket

        async def send(self, text):
            await asyncio.to_thread(self.socket.send, text)

        async def send_binary(self, data):
            await asyncio.to_thread(self.socket.send_binary, data)

        async def receive(self):
            return await asyncio.to_thread(self.socket.recv)

        async def ping(self):
            self.socket.ping(b"there?")
            opcode = websocket.ABNF.OPCODE_PING
            while opcode == websocket.ABNF.OPCODE_PING:
                opcode, data = await asyncio.to_thread(self.socket.recv_data, True)
            expect((opcode, data), (websocket.ABNF.OPCODE_PONG, b"there?"))

        async def closed(self):
            while True:
                opcode, data = await asyncio.to_thread(self.socket.recv_data, True)
                if opcode == websocket.ABNF.OPCODE_CLOSE:
                    return struct.unpack("!H", data[:2])[0]

        async def close(self, code):
            self.socket.send_close(code)
            return await self.closed()

    @contextlib.asynccontextmanager
    async def opened(url):
        socket = websocket.create_connection(url, timeout=60)
        try:
            yield Its(socket)
        finally:
            socket.close()

    suite("websocket-client", opened)


def with_wsproto():
    import wsproto
    from wsproto import events

    class Its(Peer):
        def __init__(self, reader, writer, host):
            self.reader, self.writer = reader, writer
            self.protocol = wsproto.WSConnection(wsproto.ConnectionType.CLIENT)
            self.waiting = []
            self.write(events.Request(host=host, target="/ws"))

        def write(self, event):
            self.writer.write(self.protocol.send(event))

        async def event(self, kind):
            while True:
                for at, event in enumerate(self.waiting):
                    if isinstance(event, kind):
                        return self.waiting.pop(at)
                data = await self.reader.read(65_536)
                self.protocol.receive_data(data or None)
                self.waiting += self.protocol.events()

        async def send(self, text):
            self.write(events.TextMessage(data=text))
            await self.writer.drain()

        async def send_binary(self, data):
            self.write(events.BytesMessage(data=data))

        async def receive(self):
            parts = []
            while True:
                part = await self.event(events.TextMessage)
                parts.append(part.data)
                if part.message_finished:
                    return "".join(parts)

        async def ping(self):
            self.write(events.Ping(payload=b"there?"))
            expect((await self.event(events.Pong)).payload, b"there?")

        async def closed(self):
            return (await self.event(events.CloseConnection)).code

        async def close(self, code):
            self.write(events.CloseConnection(code=code))
            return await self.closed()

    @contextlib.asynccontextmanager
    async def opened(url):
        host = url.removeprefix("ws://").removesuffix("/ws")
        name, port = host.split(":")
        reader, writer = await asyncio.open_connection(name, int(port))
        peer = Its(reader, writer, host)
        await peer.event(events.AcceptConnection)
        try:
            yield peer
        finally:
            writer.close()

    suite("wsproto", opened)


def with_autobahn():
    from autobahn.asyncio.websocket import WebSocketClientFactory, WebSocketClientProtocol

    class Its(WebSocketClientProtocol, Peer):
        def __init__(self):
            super().__init__()
            self.opened = asyncio.get_running_loop().create_future()
            self.ended = asyncio.get_running_loop().create_future()
            self.messages = asyncio.Queue()
            self.pongs = asyncio.Queue()

        def onOpen(self):
            self.opened.set_result(True)

        def onMessage(self, payload, isBinary):
            self.messages.put_nowait(payload)

        def onPong(self, payload):
            self.pongs.put_nowait(payload)

        def onClose(self, wasClean, code, reason):
            self.ended.set_result((wasClean, code))

        async def send(self, text):
            self.sendMessage(text.encode())

        async def send_binary(self, data):
            self.sendMessage(data, isBinary=True)

        async def receive(self):
            return await self.messages.get()

        async def ping(self):
            self.sendPing(b"there?")
            expect(await asyncio.wait_for(self.pongs.get(), 10), b"there?")

        async def closed(self):
            clean, code = await asyncio.wait_for(self.ended, 10)
            expect(clean, True, "a clean end")
            return code

        async def close(self, code):
            self.sendClose(code)
            return await self.closed()

    @contextlib.asynccontextmanager
    async def opened(url):
        factory = WebSocketClientFactory(url)
        factory.protocol = Its
        name, port = url.removeprefix("ws://").removesuffix("/ws").split(":")
        transport, peer = await asyncio.get_running_loop().create_connection(factory, name, int(port))
        await peer.opened
        try:
            yield peer
        finally:
            transport.close()

    suite("autobahn", opened)


if __name__ == "__main__":
    with Gateway() as gateway:
        gateway.call("gsv__WriteFile", {"path": "note.md", "content": "a note\n"})
        for one in (with_websockets, with_aiohttp, with_websocket_client, with_wsproto, with_autobahn):
            one()
