"""Logins at OAuth servers made with FastMCP and with the Python SDK of MCP."""

import contextlib
import html.parser
import json
import pathlib
import socket
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
import warnings

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
warnings.simplefilter("ignore")

import uvicorn
from fastmcp import FastMCP
from fastmcp.server.auth.auth import ClientRegistrationOptions, RevocationOptions
from fastmcp.server.auth import OAuthProxy, TokenVerifier
from fastmcp.server.auth.providers import in_memory
from fastmcp.server.auth.providers.in_memory import InMemoryOAuthProvider
from key_value.aio.stores.memory import MemoryStore
from mcp.server.auth.settings import AuthSettings
from mcp.server.mcpserver import MCPServer
from mcp.shared.auth import OAuthClientInformationFull

from gateway import Cases, Gateway

SCOPES = ["tools", "admin"]


class Provider(InMemoryOAuthProvider):
    """Counts renewals, and can hang, forget and revoke."""

    def __init__(self, **options):
        super().__init__(**options)
        self.renewals = 0
        self.methods = []

    async def register_client(self, client_info):
        self.methods.append(client_info.token_endpoint_auth_method)
        await super().register_client(client_info)

    async def exchange_refresh_token(self, client, refresh_token, scopes):
        self.renewals += 1
        return await super().exchange_refresh_token(client, refresh_token, scopes)

    def after(self, before):
        """Knows what another one knew."""
        for known in ("clients", "access_tokens", "refresh_tokens") if before else ():
            setattr(self, known, getattr(before, known))
        return self

    def revoke_all(self):
        self.access_tokens.clear()
        self.refresh_tokens.clear()


@contextlib.contextmanager
def served(app, listener):
    server = uvicorn.Server(uvicorn.Config(app, log_level="error"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]}, daemon=True)
    thread.start()
    try:
        yield
    finally:
        server.should_exit = True
        thread.join(20)


def bound(port=0):
    listener = socket.socket()
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind(("127.0.0.1", port))
    return listener, f"http://127.0.0.1:{listener.getsockname()[1]}"


def options(required):
    return {
        "client_registration_options": ClientRegistrationOptions(enabled=True, valid_scopes=SCOPES),
        "revocation_options": RevocationOptions(enabled=True),
        "required_scopes": list(required),
    }


@contextlib.contextmanager
def fastmcp(required=("tools",), before=None, port=0):
    listener, url = bound(port)
    provider = Provider(base_url=url, **options(required)).after(before)
    server = FastMCP("prot", auth=provider)

    @server.tool
    def echo(text: str) -> str:
        return f"echo: {text}"

    with served(server.http_app(path="/mcp"), listener):
        yield provider, url


class Upstream(TokenVerifier):
    """Whom the proxy believes: the authorization server behind it."""

    def __init__(self, provider):
        super().__init__(required_scopes=["tools"])
        self.provider = provider

    async def verify_token(self, token):
        return await self.provider.load_access_token(token)


@contextlib.contextmanager
def proxy():
    """FastMCP's own way to servers that register no clients, with its page that asks for consent."""
    with sdk() as (provider, upstream):
        listener, url = bound()
        provider.clients["proxy"] = OAuthClientInformationFull(
            client_id="proxy",
            client_secret="the secret of the proxy",
            redirect_uris=[f"{url}/auth/callback"],
            token_endpoint_auth_method="client_secret_post",
            scope=" ".join(SCOPES),
        )
        auth = OAuthProxy(
            upstream_authorization_endpoint=f"{upstream}/authorize",
            upstream_token_endpoint=f"{upstream}/token",
            upstream_client_id="proxy",
            upstream_client_secret="the secret of the proxy",
            token_endpoint_auth_method="client_secret_post",
            token_verifier=Upstream(provider),
            base_url=url,
            valid_scopes=SCOPES,
            client_storage=MemoryStore(),
            jwt_signing_key="a key for tests",
        )
        server = FastMCP("prot", auth=auth)

        @server.tool
        def echo(text: str) -> str:
            return f"echo: {text}"

        with served(server.http_app(path="/mcp"), listener):
            yield provider, url


@contextlib.contextmanager
def sdk(required=("tools",), before=None, port=0):
    listener, url = bound(port)
    provider = Provider(base_url=url).after(before)
    settings = AuthSettings(issuer_url=url, resource_server_url=f"{url}/mcp", validate_token_resource=False, **options(required))
    server = MCPServer("prot", auth_server_provider=provider, auth=settings)

    @server.tool()
    def echo(text: str) -> str:
        return f"echo: {text}"

    with served(server.streamable_http_app(), listener):
        yield provider, url


class NoRedirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_):
        return None


class Form(html.parser.HTMLParser):
    """The fields of the form of a page, with the button that approves."""

    def __init__(self, page):
        super().__init__()
        self.fields = {}
        self.feed(page)
        assert self.fields, page

    def handle_starttag(self, tag, attributes):
        found = dict(attributes)
        if tag in ("input", "button") and found.get("name") and found.get("value") not in (None, "deny"):
            self.fields[found["name"]] = found["value"]


def log_in(gateway):
    """Opens the address of a login as a browser would, and approves what it is asked; the page at the gateway."""
    status, begun = gateway.request("POST", "/api/servers/prot/login", {})
    assert status == 200, begun
    opener = urllib.request.build_opener(NoRedirects, urllib.request.HTTPCookieProcessor())
    place, data = begun["result"]["url"], None
    for _ in range(20):
        try:
            with opener.open(place, data, timeout=30) as answer:
                page = answer.read().decode()
            if place.startswith(gateway.url):
                return page
            data = urllib.parse.urlencode(Form(page).fields).encode()
        except urllib.error.HTTPError as answer:
            assert answer.code in (302, 303, 307), (answer.code, answer.read())
            place, data = urllib.parse.urljoin(place, answer.headers["location"]), None
    raise AssertionError(f"no end at {place}")


def config(url):
    return f'[mcpServers.prot]\nurl = "{url}/mcp"\n'


def echo(gateway, text="hello"):
    return json.dumps(gateway.call("prot__echo", {"text": text}))


def until(what, check, seconds=30):
    end = time.monotonic() + seconds
    while not check():
        assert time.monotonic() < end, what
        time.sleep(0.1)


def suite(cases, server):
    @cases.case("logs in and calls a tool")
    def _():
        with server() as (provider, url), Gateway(config(url)) as gateway:
            assert "Logged in" in log_in(gateway)
            assert "echo: hello" in echo(gateway)
            assert provider.methods == ["client_secret_post"], provider.methods

    @cases.case("uses a client of the settings by Basic")
    def _():
        with server() as (provider, url):
            settings = config(url) + 'oauth = { clientId = "known", clientSecret = "vault:known", scopes = ["tools"] }\n'
            with Gateway(settings) as gateway:
                status, said = gateway.request("PUT", "/api/secrets/known", {"value": "a secret: 100%+"})
                assert status == 200, said
                provider.clients["known"] = OAuthClientInformationFull(
                    client_id="known",
                    client_secret="a secret: 100%+",
                    redirect_uris=[f"{gateway.url}/oauth/callback"],
                    token_endpoint_auth_method="client_secret_basic",
                    scope="tools",
                )
                log_in(gateway)
                assert "echo: hello" in echo(gateway)

    @cases.case("renews with rotation, also after a restart")
    def _():
        with server() as (provider, url), Gateway(config(url)) as gateway:
            in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = 4
            log_in(gateway)
            until("renewed", lambda: echo(gateway) and provider.renewals >= 1)
            gateway.restart()
            known = provider.renewals
            until("renewed again", lambda: echo(gateway) and provider.renewals > known)
            in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = 3600

    @cases.case("reports a revoked login, and logs in again")
    def _():
        with server() as (provider, url), Gateway(config(url)) as gateway:
            log_in(gateway)
            provider.revoke_all()
            _, said = gateway.request("POST", "/api/tools/prot__echo", {"text": "x"})
            assert not said["ok"] and "manyhands mcp login prot" in said["error"], said
            log_in(gateway)
            assert "echo: hello" in echo(gateway)

    @cases.case("registers again where its client was forgotten")
    def _():
        with server() as (provider, url), Gateway(config(url)) as gateway:
            log_in(gateway)
            provider.clients.clear()
            provider.revoke_all()
            # A browser that sees the server's error never comes back; a renewal may have found out before.
            with contextlib.suppress(AssertionError):
                log_in(gateway)
            assert "Logged in" in log_in(gateway)
            assert len(provider.methods) == 2, provider.methods
            assert "echo: hello" in echo(gateway)

    @cases.case("gets more scopes with the next login, for a server that wants more")
    def _():
        with contextlib.ExitStack() as stack:
            with server() as (first, url):
                gateway = stack.enter_context(Gateway(config(url)))
                log_in(gateway)
                assert "echo: hello" in echo(gateway)
            port = int(url.rsplit(":", 1)[1])
            with server(("tools", "admin"), first, port):
                _, said = gateway.request("POST", "/api/tools/prot__echo", {"text": "x"})
                assert not said["ok"], said
                assert "Logged in" in log_in(gateway)
                assert "echo: hello" in echo(gateway)

    @cases.case("logs out and revokes")
    def _():
        with server() as (provider, url), Gateway(config(url)) as gateway:
            log_in(gateway)
            done = gateway.cli("mcp", "logout", "prot")
            assert done.returncode == 0, done.stderr
            assert not provider.refresh_tokens, provider.refresh_tokens


def behind_a_proxy(cases):
    @cases.case("logs in through the consent page of OAuthProxy and stays logged in")
    def _():
        in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = 4
        with proxy() as (provider, url), Gateway(config(url)) as gateway:
            assert "Logged in" in log_in(gateway)
            until("renewed", lambda: echo(gateway) and provider.renewals >= 1)
            gateway.restart()
            known = provider.renewals
            until("renewed again", lambda: echo(gateway) and provider.renewals > known)
        in_memory.DEFAULT_ACCESS_TOKEN_EXPIRY_SECONDS = 3600


suite(Cases("fastmcp"), fastmcp)
behind_a_proxy(Cases("fastmcp"))
suite(Cases("mcp"), sdk)
