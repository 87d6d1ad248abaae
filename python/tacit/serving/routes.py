"""What the service answers to each address."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import MutableMapping
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match, Route
from starlette.types import Scope

from .._tacit import __version__
from . import openapi
from .clients import Client
from .desk import Desk, Ticket
from .host import Host, Served, not_ready
from .limits import Body
from .policy import is_loopback
from .refusals import Refusal
from .wire import (
    LENGTH,
    MOST_HEADER,
    Answered,
    Asked,
    WireError,
    answer_body,
    header_length,
    read_request,
)


class Told(Route):
    """A route that a request's log and counters can name; not every Starlette tells them of it."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        """Whether this is the request's route, and what its scope has from then on."""
        match, more = super().matches(scope)
        return match, {**more, "route": self}


class Routes:
    """The routes of one party."""

    def __init__(self, host: Host):
        self.host = host
        self.document = openapi.document()

    def all(self) -> list[Route]:
        """Every route, with the addresses that the description has."""
        found: list[Route] = [
            Told("/v2", self.server),
            Told("/v2/health/live", self.live),
            Told("/v2/health/ready", self.ready),
            Told("/metrics", self.metrics),
            Told("/openapi.json", self.description),
        ]
        for path in (openapi.MODEL, openapi.VERSION):
            found.append(Told(path, self.model))
            found.append(Told(path + "/ready", self.model_ready))
            found.append(Told(path + "/infer", self.infer, methods=["POST"]))
        return found

    async def server(self, request: Request) -> Response:
        """What this server is, and to whoever may ask, which models it serves."""
        extensions = ["binary_tensor_data"]
        told: dict[str, Any] = {
            "name": "tacit",
            "version": __version__,
            "extensions": extensions,
        }
        if self.is_somebody(request):
            told["models"] = self.host.names_for(self.who(request))
        return JSONResponse(told)

    async def live(self, _: Request) -> Response:
        """Tells that the process answers."""
        return JSONResponse({"live": True})

    async def ready(self, request: Request) -> Response:
        """Whether all models can be asked; and why not, for whoever may ask."""
        reasons = self.host.reasons(whole=_is_near(request))
        told: dict[str, Any] = {"ready": not reasons}
        # Names of models, and whom this party suspects, are for those who may ask.
        if reasons and self.is_somebody(request):
            self.who(request)
            told["models"] = reasons
        return JSONResponse(told, status_code=503 if reasons else 200)

    async def metrics(self, request: Request) -> Response:
        """Counters, for this machine and for clients that may see them."""
        if not _is_near(request):
            self.host.policy.check_metrics(self.who(request))
        text = await asyncio.to_thread(self.host.metrics.text)
        return Response(text, media_type="text/plain; version=0.0.4; charset=utf-8")

    async def description(self, _: Request) -> Response:
        """The description of all this."""
        return JSONResponse(self.document)

    async def model(self, request: Request) -> Response:
        """A model, and what a client needs to share its input."""
        client = self.who(request)
        served = self.served(request, client)
        told = served.described()
        self.host.policy.check_reveal(client, served.name, told["reveal"])
        shown: dict[str, Any] = {key: _tensors(told[key]) for key in ("inputs", "outputs")}
        versions = [each.version for each in self.host.versions(served.name)]
        fields = {"name": served.name, "versions": versions, "platform": "tacit"}
        return JSONResponse({**fields, **shown, "parameters": told})

    async def model_ready(self, request: Request) -> Response:
        """Whether a model can be asked."""
        served = self.served(request, self.who(request))
        reason = "draining" if self.host.stopping else served.runner.reason()
        if reason is not None:
            raise not_ready(served.name, reason)
        return JSONResponse({"name": served.name, "ready": True})

    async def infer(self, request: Request) -> Response:
        """One party's share of a prediction."""
        body = Body(self.host.limits, request.receive, request.headers.get("content-length"))
        with body:
            try:
                return await self._infer(request, body)
            finally:
                if not body.ended:
                    request.state.close = True
                    await body.skip()

    async def _infer(self, request: Request, body: Body) -> Response:
        clock = asyncio.get_running_loop().time
        begun, state = clock(), request.state
        client = self.who(request)
        state.client = body.client = client.name
        served = self.served(request, client)
        state.model = served.name
        if self.host.stopping:
            raise not_ready(served.name, "draining")
        try:
            self.host.policy.check_hours(client)
            told = served.described()
            self.host.policy.check_reveal(client, served.name, told["reveal"])
        except Refusal as refusal:
            decline(request, served, refusal.code)
            raise
        length = checked_head(request)
        # A small model's requests hold little memory, however slowly they come.
        body.most = min(body.most, MOST_HEADER + told["max_body"])
        whole = await body.read()
        timed(self.host, request.scope["state"], "read", clock() - begun)
        self.host.metrics.bytes.labels(served.name, "in").inc(len(whole))
        try:
            asked = read_request(length, whole)
        except WireError as error:
            raise Refusal("malformed", str(error)) from None
        state.asked = asked
        if asked.session != told["session"]:
            words = "the parties have met anew since: describe the model again, and share anew"
            raise Refusal("other-session", words)
        state.audited = {"version": served.version, "digest": told["digest"]}
        taken = clock()
        share = await self._answer(request, served, client, asked, begun)
        timed(self.host, request.scope["state"], "answer", clock() - taken)
        self._part(request, served, asked)
        state.sent = len(share)
        answered = Answered(
            id=asked.id,
            model=served.name,
            version=served.version,
            session=asked.session,
            digest=told["digest"],
            party=told["party"],
            seconds=clock() - begun,
            share=share,
        )
        header, text = answer_body(answered)
        self.host.metrics.bytes.labels(served.name, "out").inc(len(text))
        return Response(text, headers={LENGTH: header}, media_type="application/octet-stream")

    async def _answer(
        self, request: Request, served: Served, client: Client, asked: Asked, begun: float
    ) -> bytes:
        desk: Desk = served.desk
        ticket: Ticket = await desk.take(client, asked)
        request.state.ticket = ticket
        left = begun + self.host.limits.request_s - asyncio.get_running_loop().time()

        async def gone() -> None:
            while (await request.receive())["type"] != "http.disconnect":
                pass

        return await desk.answer(asked, ticket, max(left, 0.001), gone)

    def _part(self, request: Request, served: Served, asked: Asked) -> None:
        """Notes what of an answer's time was the queue's and what its batch's; once of each."""
        ticket: Ticket = request.state.ticket
        times = served.desk.service.times(asked.id)
        if times is None or ticket.given:
            return
        waited, computed = times
        timed(self.host, request.scope["state"], "queue", waited, ago=computed)
        timed(self.host, request.scope["state"], "batch", computed)

    def is_somebody(self, request: Request) -> bool:
        """Whether a request says who asks, if anyone has to."""
        shows = "authorization" in request.headers or request.state.certificate is not None
        return self.host.policy.is_open or shows

    def who(self, request: Request) -> Client:
        """Whose key a request has."""
        shown = request.headers.getlist("authorization")
        return self.host.policy.who(shown, request.state.certificate)

    def served(self, request: Request, client: Client) -> Served:
        """The model that a request names."""
        named = request.path_params
        return self.host.model(client, named["model"], named.get("version"))


def decline(request: Request, served: Served, code: str) -> None:
    """Has the other parties hear of a request that is refused before its body is read.

    Its number is the one that a client puts into a header. A client that puts another's there has
    it from a party, which could refuse that request itself.
    """
    number = request.headers.get("x-request-id", "")
    if code != "not-ready" and re.fullmatch("[0-9a-f]{32}", number):
        served.desk.service.decline(bytes.fromhex(number), code)


def timed(
    host: Host, state: MutableMapping[str, Any], phase: str, seconds: float, *, ago: float = 0.0
) -> None:
    """Notes how long a phase of a request took that ended just now, or so many seconds ago."""
    host.metrics.seconds.labels(state["model"], phase).observe(seconds)
    ended = time.time_ns() - int(ago * 1e9)
    state.setdefault("phases", []).append((phase, ended - int(seconds * 1e9), ended))


def _is_near(request: Request) -> bool:
    """Whether a request comes from this machine."""
    return request.client is not None and is_loopback(request.client.host)


def checked_head(request: Request) -> str:
    """The length of the header in JSON; what HTTP says of the body is checked before it is read."""
    headers = request.headers
    lengths = headers.getlist(LENGTH)
    if len(lengths) > 1:
        raise Refusal("malformed", "Inference-Header-Content-Length is there twice")
    if set(headers.getlist("content-encoding")) - {"identity"}:
        raise Refusal("malformed", "Content-Encoding: shares do not shrink; send them as they are")
    if set(headers.getlist("content-type")) - {"application/octet-stream"}:
        raise Refusal("malformed", "Content-Type is not application/octet-stream")
    try:
        header_length(lengths[0] if lengths else None)
    except WireError as error:
        raise Refusal("malformed", str(error)) from None
    return lengths[0]


def _tensors(told: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The standard's fields of inputs or outputs."""
    return [{key: each[key] for key in ("name", "datatype", "shape")} for each in told]
