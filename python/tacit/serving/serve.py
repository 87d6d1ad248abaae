"""`tacit serve`: one organisation's party, until it is told to stop."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import ssl
import time
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from .. import _tacit
from .._tacit import TacitError, __version__
from ..operating.approve import keep_offer
from ..operating.members import SOON_DAYS, certificates, lasting, secret
from ..operating.rotation import load_key
from .app import make_app
from .audit import Audit, signer_of
from .budgets import Budgets, beside
from .clients import clients_of
from .desk import Desk
from .guard import guarded
from .host import Host, Served
from .hours import Hours
from .limits import Limits
from .log import Handler, Log
from .metrics import Metrics
from .policy import Policy, check_listener, host_of, is_loopback, port_of, salt_of
from .quiet import WINDOW_S, Quiet
from .runner import Runner
from .service import Service, make_service, read_config
from .tokens import tokens_of
from .tracing import traces_of

HANDSHAKE_S = 10.0
"""Seconds for the handshake of TLS."""
GRACE_S = 5.0
"""Seconds that models which are not ready have to end, and connections at the end."""
CODE = 130
"""The exit code of a service that a second signal ended."""

Make = Callable[[str, str], Service]


class Party:
    """One organisation's service, with its parts.

    Parameters
    ----------
    path
        Of the config file.
    level
        The least that is logged.
    make
        Makes the core of a model; tests give another.
    read
        Reads the config file; tests give another.
    """

    def __init__(
        self,
        path: str,
        level: str = "info",
        make: Make = make_service,
        read: Callable[[str], dict[str, Any]] = read_config,
    ):
        self.path, self.read = path, read
        config = self.config = read(path)
        service = config["service"]
        warnings = check_listener(config)
        clients = clients_of(config)
        port_of(service["listen"])
        self.log = Log(service["log"], level)
        self.metrics = Metrics()
        self.budgets = Budgets(beside(Path(service["audit"])))
        self.policy = Policy(
            clients,
            self.budgets,
            hours=Hours.of(service, "service"),
            salt=salt_of(service),
            tokens=tokens_of(config),
        )
        self.tls = tls_of(service)
        meet(self.tls, config)
        self.audit = Audit(Path(service["audit"]), signer_of(config["party"]))
        services = {each["name"]: make(path, each["name"]) for each in config["models"]}
        self.host = self._host(services)
        self.metrics.watch(services)
        self.metrics.expire(ends_of(config))
        for words in [*warnings, *ending(config), *unpinned(config)]:
            self.log.warn(words)

    def _host(self, services: Mapping[str, Service]) -> Host:
        service = self.config["service"]
        names = [each["name"] for each in self.config["parties"]]
        served: dict[str, Served] = {}
        for each in self.config["models"]:
            name = each["name"]
            core = services[name]
            runner = Runner(name, core, names, self.log, self.changed)
            desk = Desk(core, self.policy, int(service["queue"]), float(service["keep_s"]))
            served[name] = Served(name, each["version"], runner, desk)
        return Host(
            models=served,
            policy=self.policy,
            audit=self.audit,
            log=self.log,
            metrics=self.metrics,
            limits=Limits.of(service),
            quiet=Quiet(self.audit.write),
            open_names=not is_loopback(host_of(service["listen"])),
            origins=tuple(service["origins"]),
            encrypted=bool(service.get("certificate")),
            traces=traces_of(self.config),
        )

    def changed(self, model: str, state: str, told: dict[str, Any]) -> None:
        """Notes in the audit log how a model's life goes."""
        facts: dict[str, Any] = {"model": model, "why": told["why"]}
        served = self.host.models[model]
        if state == "ready":
            described = served.desk.service.described()
            facts |= {"version": served.version, **facts_of(described)}
            facts["certificates"] = fingerprints(self.config)
        else:
            self.metrics.errors.labels(model, state).inc()
            self.note_offer(model)
        if told["suspects"]:
            facts["suspects"] = told["suspects"]
        self.audit.write(state, **facts)

    def note_offer(self, model: str) -> None:
        """Writes down what a model's owner offers, for `tacit approve` to show."""
        approved = self.config["service"].get("approved")
        table = next(each for each in self.config["models"] if each["name"] == model)
        if not approved or table.get("file"):
            return
        offer = self.host.models[model].desk.service.offered()
        try:
            if offer is not None:
                keep_offer(approved, model, offer)
        except OSError as error:
            self.log.error("what is offered cannot be written down", model=model, why=str(error))

    def start(self) -> None:
        """Begins to meet the other parties."""
        party = self.config["party"]
        self.audit.write("start", tacit=__version__, party=party["id"], config=self.path)
        for served in self.host.models.values():
            served.runner.start()

    def reload(self) -> None:
        """Reads the clients of the config file anew; all else stays as it is."""
        try:
            config = self.read(self.path)
            clients, tokens = clients_of(config), tokens_of(config)
            meet(self.tls, config)
        except (TacitError, OSError, ValueError) as error:
            self.log.error("the clients stay as they were", why=str(error))
            return
        if not clients and not self.policy.is_open:
            told = "name a client, or restart the service to let anyone ask"
            self.log.error("the clients stay as they were", why=told)
            return
        self.policy.clients, self.policy.tokens = clients, tokens
        self.log.info("the clients were read anew", clients=len(clients))
        self.audit.write("clients", names=[client.name for client in clients])

    def look_at_certificates(self, *, warn: bool) -> None:
        """Tells the metrics when certificates end, and the log if it is soon."""
        try:
            self.metrics.expire(ends_of(self.config))
            for words in ending(self.config) if warn else ():
                self.log.warn(words)
        except (TacitError, OSError) as error:
            self.log.warn("a certificate cannot be read", why=str(error))

    async def drain(self) -> None:
        """Takes no more requests, and waits for those that were taken."""
        self.host.stopping = True
        self.log.info("drains: takes no more requests")
        served = self.host.models.values()
        ready = any(each.runner.reason() is None for each in served)
        for each in served:
            await asyncio.to_thread(each.runner.stop)
        until = time.monotonic() + (self.host.limits.request_s if ready else GRACE_S)
        while time.monotonic() < until:
            if all(each.runner.is_over() and not each.desk.watched for each in served):
                return
            await asyncio.sleep(0.02)
        self.log.warn("not all requests were answered in time")
        _tacit.interrupt()

    def close(self) -> None:
        """Writes what is left to write."""
        for served in self.host.models.values():
            served.desk.close()
        if self.host.traces is not None:
            self.host.traces.close()
        self.host.quiet.flush(all_windows=True)
        self.budgets.close()
        self.audit.write("stop")
        self.audit.close()
        self.log.info("has stopped")


class Server(uvicorn.Server):
    """uvicorn's, whose signals are the party's and whose handshakes have a limit."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """Leaves signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listens; asyncio alone would give a handshake a minute."""
        if self.config.ssl is not None:
            loop: Any = asyncio.get_running_loop()
            loop.create_server = partial(loop.create_server, ssl_handshake_timeout=HANDSHAKE_S)
        await super().startup(sockets)


def server_of(party: Party) -> Server:
    """The HTTP server of a party."""
    service, limits = party.config["service"], party.host.limits
    logger = logging.getLogger("uvicorn")
    logger.handlers, logger.propagate = [Handler(party.log)], False
    config = uvicorn.Config(
        make_app(party.host),
        host=host_of(service["listen"]),
        port=port_of(service["listen"]),
        http=guarded(limits),
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        timeout_keep_alive=int(limits.idle_s),
        timeout_graceful_shutdown=int(GRACE_S),
        h11_max_incomplete_event_size=16 << 10,
        backlog=512,
    )
    config.load()
    config.ssl = party.tls
    return Server(config)


async def serve(party: Party, *, signals: bool = True, server: Server | None = None) -> None:
    """Serves until a signal, or until the server is told to end."""
    server = server or server_of(party)
    listener = bound(party.config["service"]["listen"], server.config.backlog)
    party.start()
    stopping: list[asyncio.Task[None]] = []

    async def stop() -> None:
        await party.drain()
        server.should_exit = True

    def signalled() -> None:
        if stopping:
            party.log.warn("ends now")
            os._exit(CODE)
        stopping.append(asyncio.ensure_future(stop()))

    loop = asyncio.get_running_loop()
    if signals:
        loop.add_signal_handler(signal.SIGTERM, signalled)
        loop.add_signal_handler(signal.SIGINT, signalled)
        loop.add_signal_handler(signal.SIGHUP, party.reload)
    tasks = [asyncio.ensure_future(each) for each in (count_quietly(party), look_daily(party))]
    scheme = "https" if party.host.encrypted else "http"
    party.log.info("listens", address=f"{scheme}://{party.config['service']['listen']}")
    try:
        await server.serve([listener])
    finally:
        for each in tasks:
            each.cancel()
        listener.close()
        await asyncio.to_thread(party.close)


async def count_quietly(party: Party) -> None:
    """Writes now and then what was counted of clients that ask no more."""
    while True:
        await asyncio.sleep(WINDOW_S)
        party.host.quiet.flush()


async def look_daily(party: Party) -> None:
    """Looks every hour when certificates end, and warns once a day."""
    while True:
        for hour in range(1, 25):
            await asyncio.sleep(3600)
            party.look_at_certificates(warn=hour == 24)


def bound(address: str, backlog: int) -> socket.socket:
    """A socket that listens."""
    host, port = host_of(address), port_of(address)
    try:
        family, *_, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        return socket.create_server(where[:2], family=family, backlog=backlog)
    except OSError as error:
        raise TacitError(f"service.listen: {address}: {error.strerror or error}") from None


def tls_of(service: Mapping[str, Any]) -> ssl.SSLContext | None:
    """How clients are met by HTTPS; None where they come by plain HTTP."""
    if not service.get("certificate"):
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    path = service["certificate"]
    try:
        load_key(context, Path(path).read_bytes(), secret(service["key"], "service.key"))
    except ssl.SSLError:
        told = f"{path}: it is no certificate, or service.key is not its key without a password"
        raise TacitError(told) from None
    return context


def meet(context: ssl.SSLContext | None, config: Mapping[str, Any]) -> None:
    """Asks clients for their certificates, if any are known by one; each is its own authority.

    Who it is of, the policy says: one that was taken away is known to nobody, though TLS takes it.
    """
    paths = [each["certificate"] for each in config["clients"] if each.get("certificate")]
    if not paths:
        return
    if context is None:
        told = "a client's certificate needs HTTPS: give service.certificate and service.key"
        raise TacitError(f"clients: {told}")
    context.verify_mode = ssl.CERT_OPTIONAL
    # Every connection shows its certificate itself.
    context.num_tickets = 0
    for path in paths:
        try:
            context.load_verify_locations(cafile=path)
        except ssl.SSLError:
            raise TacitError(f"clients: {path} is no certificate in PEM") from None


def facts_of(described: bytes | None) -> dict[str, Any]:
    """What the audit log has of a model that became ready."""
    told: dict[str, Any] = json.loads(described) if described else {}
    keys = ("digest", "commitment", "session", "protocol", "security", "reveal")
    return {key: told[key] for key in keys if key in told}


def fingerprints(config: Mapping[str, Any]) -> dict[str, str]:
    """The fingerprints of the parties' certificates, by their names; while one changes, of both."""
    found: dict[str, str] = {}
    for each in config["parties"]:
        try:
            prints = [one.fingerprint for one in certificates(each["certificate"])]
        except TacitError:
            # Damaged since the parties met by it.
            prints = ["unreadable"]
        found[each["name"]] = " ".join(prints)
    return found


def ends_of(config: Mapping[str, Any]) -> list[tuple[str, float]]:
    """When the certificates of a config file end, by what they are for.

    This party's own is the one that it shows; of another's the last to end counts.
    """
    own = config["party"]
    found = [
        (each["name"], lasting(each["certificate"]))
        for number, each in enumerate(config["parties"])
        if number != own["id"]
    ]
    found.append((config["parties"][own["id"]]["name"], certificates(own["certificate"])[0]))
    if config["service"].get("certificate"):
        found.append(("https", certificates(config["service"]["certificate"])[0]))
    return [(name, each.ends) for name, each in found if each.ends is not None]


def unpinned(config: Mapping[str, Any]) -> Iterable[str]:
    """Warnings of models that are served whatever their owner makes of them."""
    for each in config["models"]:
        pinned = each.get("digest") or each.get("file") or config["service"].get("approved")
        if not pinned:
            yield (
                f"the model '{each['name']}' is served whatever its owner offers: approve one by "
                "service.approved and `tacit approve`"
            )


def ending(config: Mapping[str, Any]) -> Iterable[str]:
    """Warnings of certificates that end soon."""
    for name, until in ends_of(config):
        days = (until - time.time()) / 86400
        if days < SOON_DAYS:
            yield (
                f"the certificate of {name} ends in {max(days, 0):.0f} days; a party makes a new "
                "one by `tacit cert rotate`, and all others accept it before it switches"
            )
