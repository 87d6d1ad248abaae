"""The application: routes, and what holds for every request whatever its address."""

from __future__ import annotations

import asyncio
import re
import time
import uuid
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from starlette.applications import Starlette
from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import Request
from starlette.responses import Response

from .desk import Ticket
from .host import Host
from .limits import Gone
from .policy import host_of, is_loopback
from .refusals import Refusal
from .routes import Routes, timed
from .wire import LENGTH

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

REQUEST_ID = re.compile(r"[A-Za-z0-9_-]{1,64}")
SAFE = {
    "cache-control": "no-store",
    "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
}
"""Headers of every answer."""


def make_app(host: Host) -> Any:
    """The application of one party."""
    cors = Middleware(
        CORSMiddleware,
        allow_origins=list(host.origins),
        allow_methods=["GET", "POST"],
        allow_headers=["authorization", "content-type", LENGTH, "traceparent", "x-request-id"],
        expose_headers=[LENGTH, "x-request-id", "retry-after"],
        max_age=600,
    )
    handlers: Any = {
        Refusal: _refused,
        HTTPException: _not_there,
        Gone: _left,
        Exception: _failed,
    }
    inner = Starlette(routes=Routes(host).all(), middleware=[cors], exception_handlers=handlers)
    inner.router.redirect_slashes = False
    return Envelope(host, inner)


class Envelope:
    """Every request: who may reach it at all, its number, its line in logs and counters.

    An error of the program is told as `internal` and nothing else, and the service goes on.
    """

    def __init__(self, host: Host, inner: Any):
        self.host, self.inner = host, inner

    async def __call__(self, scope: Any, receive: Receive, send: Send) -> None:
        """Answers one HTTP request, with its number, its line in logs and its counters."""
        if scope["type"] != "http":
            return
        headers = Headers(scope=scope)
        given = headers.get("x-request-id", "")
        number = given if REQUEST_ID.fullmatch(given) else uuid.uuid4().hex
        # The connection's own, not what anyone could send.
        own: dict[str, Any] = scope.get("state") or {}
        state: dict[str, Any] = {"number": number, "code": "answered", "close": False}
        state["certificate"] = own.get("certificate")
        started = time.time_ns()
        scope["state"] = state
        begun = time.monotonic()
        sending = Sending(self, state, send, begun)
        try:
            refusal = self.door(headers) or self.ended(own.get("ends"))
            if refusal is not None:
                state["close"] = True
                await _respond(refusal, state)(scope, receive, sending)
            else:
                await self.inner(scope, receive, sending)
        except Exception as error:
            self.failed(error, state)
        finally:
            self.tell(scope, state, time.monotonic() - begun)
            self.trace(headers.get("traceparent"), state, started)

    def door(self, headers: Headers) -> Refusal | None:
        """Refuses pages of other origins, names that are not this machine's, bodies of two lengths.

        A page of anywhere may send requests to this machine's loopback, by a name that leads there.
        Of two lengths a proxy may have gone by the other, and have taken what is left over for the
        request of somebody else.
        """
        origin = headers.get("origin")
        if origin is not None and origin not in self.host.origins:
            return Refusal("not-allowed", "this origin may not ask here")
        if "transfer-encoding" in headers and "content-length" in headers:
            return Refusal("malformed", "Content-Length and Transfer-Encoding: give one of them")
        name = headers.get("host", "")
        bare = host_of(name) if re.search(r":\d*$", name) else name.strip("[]")
        if not self.host.open_names and not is_loopback(bare):
            return Refusal("wrong-host", "this party is reached by 127.0.0.1 or localhost alone")
        return None

    def ended(self, ends: float | None) -> Refusal | None:
        """Refuses a kept connection whose certificate has ended since; TLS looked at it once."""
        if ends is None or self.host.policy.clock() < ends:
            return None
        told = "the certificate of this connection has ended; connect with a new one"
        return Refusal("unknown-client", told)

    def failed(self, error: Exception, state: dict[str, Any]) -> None:
        """Notes an error of the program: its kind and place, none of its words."""
        where = error.__traceback__
        while where is not None and where.tb_next is not None:
            where = where.tb_next
        code = where.tb_frame.f_code if where is not None else None
        place = f"{code.co_filename}:{where.tb_lineno}" if code and where else None
        kind = type(error).__name__
        self.host.log.error("failed", request=state["number"], exception=kind, place=place)
        self.host.metrics.errors.labels(state.get("model", "-"), "internal").inc()

    def tell(self, scope: Any, state: dict[str, Any], seconds: float) -> None:
        """The request's line in the log, and its counters."""
        route = getattr(scope.get("route"), "path", "-")
        status = state.get("status", 0)
        model, asked = state.get("model"), state.get("asked")
        metrics = self.host.metrics
        metrics.http.labels(route, str(status)).inc()
        if route.endswith("/infer"):
            metrics.requests.labels(model or "-", state["code"]).inc()
        if model is not None:
            metrics.seconds.labels(model, "all").observe(seconds)
        self.host.log.say(
            "debug" if route in QUIET else "info",
            "request",
            request=state["number"],
            route=route,
            status=status,
            code=state["code"],
            client=state.get("client"),
            model=model,
            id=asked.id.hex() if asked else None,
            items=asked.items if asked else None,
            seconds=seconds,
        )

    def trace(self, given: str | None, state: dict[str, Any], started: int) -> None:
        """The request's spans, where they are sent somewhere; the service goes on without them."""
        if self.host.traces is None:
            return
        try:
            self.host.traces.tell(given, state, started, time.time_ns())
        except Exception as error:
            self.host.log.warn("a trace is lost", exception=type(error).__name__)

    async def audit(self, state: dict[str, Any], begun: float) -> None:
        """The request's line in the audit log, on disk before its answer goes out.

        Whoever has no key has none: strangers could fill the disk. Nor has everything by which a
        client learned nothing new.
        """
        if "client" not in state:
            return
        ticket: Ticket | None = state.get("ticket")
        answered = state["code"] == "answered" and not (ticket and ticket.given)
        outcome = "repeated" if state["code"] == "answered" else state["code"]
        if not answered and not self.host.quiet.has_line(state["client"], outcome):
            return
        asked = state.get("asked")
        wrote = time.monotonic()
        line = self.host.audit.write(
            "request",
            client=state["client"],
            model=state.get("model"),
            **state.get("audited", {}),
            session=asked.session if asked else None,
            id=asked.id.hex() if asked else None,
            items=asked.items if asked else None,
            outcome=state["code"] if answered else outcome,
            received=len(asked.share) if asked else None,
            sent=state.get("sent"),
            seconds=round(wrote - begun, 6),
            request=state["number"],
        )
        await asyncio.wrap_future(line)
        if answered and ticket:
            ticket.given = True
        if state.get("model") is not None:
            timed(self.host, state, "audit", time.monotonic() - wrote)


QUIET = ("/v2/health/live", "/v2/health/ready", "/metrics")
"""Routes that are asked every few seconds."""


class Sending:
    """Sends an answer once its line in the audit log is written."""

    def __init__(self, envelope: Envelope, state: dict[str, Any], send: Send, begun: float):
        self.envelope, self.state, self.send, self.begun = envelope, state, send, begun
        self.started = self.withheld = False

    async def __call__(self, message: Message) -> None:
        """Sends a part of it, the first with the headers that all answers have."""
        if message["type"] == "http.response.start":
            try:
                await self.envelope.audit(self.state, self.begun)
            except Exception:
                self.withheld = True
                self.envelope.host.metrics.errors.labels("-", "audit").inc()
                self.envelope.host.log.error("the audit log cannot be written: nothing is answered")
                await self._withhold()
            if not self.withheld:
                await self._start(message)
        elif not self.withheld:
            await self.send(message)

    async def _start(self, message: Message) -> None:
        self.started = True
        self.state["status"] = message["status"]
        more = {**SAFE, "x-request-id": self.state["number"]}
        if self.envelope.host.encrypted:
            more["strict-transport-security"] = "max-age=31536000"
        if self.state["close"]:
            more["connection"] = "close"
        pairs = [(name.encode(), value.encode()) for name, value in more.items()]
        await self.send({**message, "headers": [*message.get("headers", []), *pairs]})

    async def _withhold(self) -> None:
        """Answers that the audit log cannot be written."""
        self.state["code"] = "audit"
        refusal = Refusal("audit", "this party cannot write its audit log; tell its operator")
        body = refusal.body(self.state["number"])
        headers = {**refusal.headers(), "content-length": str(len(body))}
        pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
        await self._start({"type": "http.response.start", "status": 503, "headers": pairs})
        await self.send({"type": "http.response.body", "body": body, "more_body": False})


def _respond(refusal: Refusal, state: MutableMapping[str, Any]) -> Response:
    state["code"] = refusal.code
    return Response(refusal.body(state["number"]), refusal.status, refusal.headers())


async def _refused(request: Request, error: Exception) -> Response:
    assert isinstance(error, Refusal)
    return _respond(error, request.scope["state"])


async def _left(request: Request, _: Exception) -> Response:
    """Nobody hears this; the log and the audit log have it."""
    request.scope["state"].update(code="gone", close=True)
    return Response(b"", 499)


async def _failed(request: Request, _: Exception) -> Response:
    state = request.scope["state"]
    state["close"] = True
    words = "this party failed; its operator's log has the request"
    return _respond(Refusal("internal", words), state)


async def _not_there(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 404)
    code, words = ("no-such-method", "this address has no such method")
    if status != 405:
        code, words = "not-found", "there is nothing at this address; /openapi.json has them all"
    response = _respond(Refusal(code, words), request.scope["state"])
    if status == 405:
        response.headers.update(getattr(error, "headers", None) or {})
    return response
