"""`tacit serve`: one organisation's party, until it is told to stop."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import uvicorn

from .. import _tacit
from .._tacit import TacitError, __version__
from ..operating.approve import keep_offer
from ..operating.members import certificates
from .app import make_app
from .audit import Audit, signer_of
from .budgets import Budgets, beside
from .clients import clients_of
from .desk import Desk
from .door import door_of
from .guard import guarded
from .host import Host, Served
from .hours import Hours
from .https import meet, renew, tls_of
from .limits import Limits
from .log import Handler, Log
from .metrics import Metrics
from .models import Table, changes, in_order, key_of, leave
from .notices import ending, ends_of, unpinned
from .policy import Policy, check_listener, check_pinned, host_of, is_loopback, port_of, salt_of
from .quarantine import Quarantine, event_of
from .quiet import WINDOW_S, Quiet
from .runner import Key, Runner
from .service import Service, make_service, read_config
from .still import Still
from .tokens import tokens_of
from .tracing import traces_of

HANDSHAKE_S = 5.0
"""Seconds for the handshake of TLS."""
GRACE_S = 5.0
"""Seconds that models which are not ready have to end, and connections at the end."""
CODE = 130
"""The exit code of a service that a second signal ended."""

WRONG = (TacitError, OSError, ValueError)
"""What a config that is read anew, or a file that it names, may raise."""

Make = Callable[[str, str, str], Service]


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
        self.path, self.make, self.read = path, make, read
        self.reloading = threading.Lock()
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
            tokens=tokens_of(config, self.log.warn),
        )
        self.tls = tls_of(service)
        meet(self.tls, config)
        self.audit = Audit(Path(service["audit"]), signer_of(config["party"]))
        self.quarantine = Quarantine(Path(service["audit"]))
        models = {key_of(table): self._served(config, table) for table in config["models"]}
        self.host = self._host(models)
        self.metrics.watch(self.runners)
        given = (self.quarantine, self.audit, self.log, self.metrics)
        self.still = Still(*given, self.runners)
        self.metrics.expire(ends_of(config))
        for words in [*warnings, *ending(config), *unpinned(config["service"], config["models"])]:
            self.log.warn(words)

    def _served(self, config: Mapping[str, Any], table: Table, *, added: bool = False) -> Served:
        key, service = key_of(table), config["service"]
        core = self.make(self.path, *key)
        names = [each["name"] for each in config["parties"]]
        tells = (self.log, self.changed)
        runner = Runner(key, core, names, *tells, halted=self.quarantine.why)
        desk = Desk(core, self.policy, float(service["keep_s"]))
        return Served(table, runner, desk, added)

    def _host(self, models: Mapping[Key, Served]) -> Host:
        service = self.config["service"]
        return Host(
            models=models,
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

    def runners(self) -> dict[Key, Runner]:
        """The runners of the models, of now."""
        return {key: served.runner for key, served in self.host.models.items()}

    def changed(self, key: Key, state: str, told: dict[str, Any]) -> None:
        """Notes in the audit log how a model's life goes; after cheating all models stand still."""
        if state == "quarantined":
            self.still.halt(event_of(self.config, key, told))
        facts: dict[str, Any] = {"model": key[0], "version": key[1], "why": told["why"]}
        served = self.host.models.get(key)
        if state == "ready" and served is not None:
            facts |= facts_of(served.desk.service.described())
            facts["certificates"] = told["certificates"]
        else:
            # A party that another has drained is met again: that is a restart, and no error.
            if state != "drained":
                self.metrics.errors.labels(key[0], told.get("code") or state).inc()
            self.note_offer(served)
        if told["suspects"]:
            facts["suspects"] = told["suspects"]
        self.audit.write(state, **facts)

    def note_offer(self, served: Served | None) -> None:
        """Writes down what a model's owner offers, for `tacit approve` to show."""
        approved = self.config["service"].get("approved")
        if served is None or not approved or served.table.get("file"):
            return
        offer = served.desk.service.offered()
        try:
            if offer is not None:
                keep_offer(approved, served.table, offer)
        except OSError as error:
            told = "what is offered cannot be written down"
            self.log.error(told, model=served.name, why=str(error))

    def start(self) -> None:
        """Begins to meet the other parties."""
        party = self.config["party"]
        self.audit.write("start", tacit=__version__, party=party["id"], config=self.path)
        self.still.begins()
        for served in self.host.models.values():
            served.runner.start()

    def reload(self) -> None:
        """Reads models, clients, the certificate of HTTPS and the quarantine anew, nothing else.

        What is wrong is logged, and that part stays as it was. A party that ends reads nothing:
        the others would meet a model that is gone at once.
        """
        with self.reloading:
            if self.host.stopping:
                return
            try:
                config = self.read(self.path)
            except WRONG as error:
                self.log.error("the config stays as it was", why=str(error))
                return
            for what, part in (
                ("this party meets nobody, as before", self._read_quarantine),
                ("the models stay as they were", self._read_models),
                ("the clients stay as they were", self._read_clients),
                ("the certificate of HTTPS stays as it was", self._renew_https),
            ):
                try:
                    part(config)
                except WRONG as error:
                    self.log.error(what, why=str(error))

    def _read_quarantine(self, config: Mapping[str, Any]) -> None:
        """Meets the others again, with models made anew, if the quarantine was lifted."""
        if not self.still.look():
            return
        self._check_pinned(config, config["models"])
        models = {key_of(table): self._served(config, table) for table in config["models"]}
        for served in self.host.models.values():
            served.desk.close()
        self.still.ends()
        self.host.models = models
        for served in models.values():
            self._start(served)

    def _start(self, served: Served) -> None:
        """Has a model that is among those of the host met, unless the party ends meanwhile."""
        # What ends the party looks at the host's models after it has said so.
        if not self.host.stopping:
            served.runner.start()

    def _read_models(self, config: Mapping[str, Any]) -> None:
        came, gone = changes(self.host.models, config["models"])
        self._check_pinned(config, came)
        new = {key_of(table): self._served(config, table, added=True) for table in came}
        for words in unpinned(config["service"], came):
            self.log.warn(words)
        self.host.models = in_order({**self.host.models, **new}, config["models"])
        for served in new.values():
            self.log.info("comes", model=served.name, version=served.version)
            self._start(served)
        for key in gone:
            self.log.info("goes", model=key[0], version=key[1])
            threading.Thread(target=self._leave, args=(key,), daemon=True).start()
        if came or gone:
            names = [" ".join(key_of(table)) for table in config["models"]]
            self.audit.write("models", names=names)

    def _check_pinned(self, config: Mapping[str, Any], tables: Sequence[Table]) -> None:
        """Refuses models of others that are not pinned, by where this party listens meanwhile."""
        listen = self.config["service"]["listen"]
        check_pinned({**config["service"], "listen": listen}, tables)

    def _leave(self, key: Key) -> None:
        leave(self.host.models[key], self.host.limits.request_s)
        with self.reloading:
            kept = {each: served for each, served in self.host.models.items() if each != key}
            self.host.models = kept
        self.log.info("is served no more", model=key[0], version=key[1])

    def _read_clients(self, config: Mapping[str, Any]) -> None:
        clients, tokens = clients_of(config), tokens_of(config, self.log.warn)
        if not clients and not self.policy.is_open:
            raise TacitError("name a client, or restart the service to let anyone ask")
        if tokens is not None:
            tokens.keep(self.policy.tokens)
        meet(self.tls, config)
        self.policy.clients, self.policy.tokens = clients, tokens
        self.log.info("the clients were read anew", clients=len(clients))
        self.audit.write("clients", names=[client.name for client in clients])

    def _renew_https(self, config: Mapping[str, Any]) -> None:
        renew(self.tls, config["service"])
        if self.tls is not None:
            shown = certificates(config["service"]["certificate"])[0].fingerprint
            self.log.info("the certificate of HTTPS was read anew", fingerprint=shown)
            self.metrics.expire(ends_of(self.config))

    def refresh_keys(self) -> None:
        """Fetches the keys of issuers that are somewhere else."""
        if self.policy.tokens is not None:
            self.policy.tokens.refresh()

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
        """Leaves signals alone: the party has handlers of its own."""
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
    for name in ("uvicorn", "asyncio"):
        logger = logging.getLogger(name)
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
    given = (party.config["service"], party.host.limits, party.log)
    listener = door_of(*given, server.config.backlog)
    party.start()
    stopping: list[asyncio.Task[None]] = []
    reloads: set[asyncio.Task[None]] = set()

    async def stop() -> None:
        await party.drain()
        server.should_exit = True

    def signalled() -> None:
        if stopping:
            party.log.warn("ends now")
            os._exit(CODE)
        stopping.append(asyncio.ensure_future(stop()))

    def reload() -> None:
        # Keys may come from commands, which take their time.
        task = asyncio.ensure_future(asyncio.to_thread(party.reload))
        reloads.add(task)
        task.add_done_callback(reloads.discard)

    loop = asyncio.get_running_loop()
    if signals:
        loop.add_signal_handler(signal.SIGTERM, signalled)
        loop.add_signal_handler(signal.SIGINT, signalled)
        loop.add_signal_handler(signal.SIGHUP, reload)
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
    """Looks every hour when certificates end, and warns once a day; fetches keys of issuers."""
    while True:
        for hour in range(1, 25):
            await asyncio.sleep(3600)
            await asyncio.to_thread(party.refresh_keys)
            party.look_at_certificates(warn=hour == 24)


def facts_of(described: bytes | None) -> dict[str, Any]:
    """What the audit log has of a model that became ready."""
    told: dict[str, Any] = json.loads(described) if described else {}
    keys = ("digest", "commitment", "session", "protocol", "security", "reveal")
    return {key: told[key] for key in keys if key in told}
