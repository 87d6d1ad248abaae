"""Three parties that predict by adding: what the core promises a service, without a protocol.

A share of x is numbers that add up to x; every party multiplies its own by the weights.
"""

import asyncio
import base64
import hashlib
import json
import secrets
import socket
import threading
import time
from contextlib import contextmanager, suppress

import numpy as np
from ports import free_ports

from tacit import TacitError, _tacit
from tacit.serving import serve as serving

WEIGHTS = np.arange(12, dtype=np.float64).reshape(4, 3) / 4
NAMES = ("alpha", "beta", "gamma")
SHOWN = {name: hashlib.sha256(name.encode()).hexdigest() for name in NAMES}
"""The fingerprints of the certificates that parties show to each other."""
CODES = {"failed": "peer-lost", "quarantined": "cheating"}
"""The code of the error after which a core is in a state."""
TIMES = (0.001, 0.0005)
"""Seconds that a request waits for its batch, and that the batch takes."""


class World:
    """What the parties of one model have in common."""

    def __init__(self, name="digits", version="1", grace=0.4):
        self.name, self.version, self.grace = name, version, grace
        self.session = secrets.token_hex(16)
        self.security = "semi-honest, 1 of 3 corrupt"
        self.held = [{}, {}, {}]
        self.declined = {}
        self.digest = hashlib.sha256(name.encode()).hexdigest()
        self.changed = threading.Condition()
        self.max_body = 64 << 20

    def described(self, party):
        return {
            "name": self.name,
            "version": self.version,
            "protocol": "falcon",
            "security": self.security,
            "parties": 3,
            "party": party,
            "digest": self.digest,
            "commitment": "c0ffee",
            "session": self.session,
            "scheme": {"kind": "replicated", "bits": 64},
            "inputs": [{"name": "x", "datatype": "FP32", "shape": [-1, 4]}],
            "outputs": [{"name": "y", "datatype": "FP32", "shape": [-1, 3], "classes": None}],
            "reveal": "logits",
            "max_items": 8,
            "max_body": self.max_body,
            "plan": base64.b64encode(b"{}").decode(),
        }


class Bell:
    """Rings again and again, whether or not a request has ended."""

    def __init__(self):
        self.rope, heard = socket.socketpair()
        heard.setblocking(False)
        self.heard = heard.detach()
        threading.Thread(target=self._ring, daemon=True).start()

    def _ring(self):
        with self.rope, suppress(OSError):
            while True:
                time.sleep(0.005)
                self.rope.send(b".")


class FakeService:
    """One party of a world, as `_tacit.Service` is."""

    def __init__(self, world, party):
        self.world, self.party = world, party
        self.state, self.why, self.suspects = "new", None, []
        self.before = None
        self.lives = self.answered = self.submitted = 0
        self.forgotten, self.asked = [], {}
        self.said = None
        self.delay = 0.0
        self.answers = threading.Event()
        self.answers.set()
        self.broken = None
        self.fails = []
        self.ends = threading.Event()

    def run(self, notice):
        notice("waits for the others")
        self.state = "connecting"
        if self.fails:
            state, why, suspects = self.fails.pop(0)
            self.state, self.why, self.suspects = state, why, suspects
            raise TacitError(why)
        self.state, self.lives = "ready", self.lives + 1
        self.ends.wait()
        if self.broken:
            self.ends.clear()
            self.state, self.why, self.suspects = self.broken
            self.broken = None
            raise TacitError(self.why)
        self.ends.clear()
        self.state = "drained"

    def standing(self):
        told = {"state": self.state, "why": self.why, "suspects": self.suspects}
        told |= {"before": self.before, "code": CODES.get(self.state)}
        numbers = ("waiting", "waiting_items", "running", "refused", "busy", "batches", "items")
        told |= dict.fromkeys(numbers, 0)
        told |= {"answered": self.answered, "online_seconds": 0.5, "offline_seconds": 1.5}
        others = [name for name in NAMES if name != NAMES[self.party]]
        told |= {"pool": 16, "sent": 7, "received": 8}
        told |= {"certificates": SHOWN}
        told |= {"sent_to": dict(zip(others, (3, 4), strict=True))}
        told |= {"received_from": dict(zip(others, (6, 2), strict=True))}
        return json.dumps({**told, "rounds": 9, "digest": self.world.digest, "lives": self.lives})

    def described(self):
        if self.state not in ("ready", "draining"):
            return None
        return json.dumps(self.world.described(self.party)).encode()

    def offered(self):
        return None

    def submit(self, client, session, request, items, share):
        for code, is_so in (
            ("not-ready", self.state != "ready"),
            ("other-session", session != self.world.session),
            ("too-many-items", items > 8),
            ("malformed", len(share) != 32 * items),
        ):
            if self.said or is_so:
                wait = 0.1 if code == "not-ready" else None
                return json.dumps(self.said or {"code": code, "message": code, "retry_after": wait})
        with self.world.changed:
            held = self.world.held[self.party]
            self.submitted += request not in held
            if held.setdefault(request, share) != share:
                return json.dumps({"code": "reused", "message": "another", "retry_after": None})
            self.world.changed.notify_all()
        return None

    def decline(self, request, code):
        with self.world.changed:
            self.world.declined[request] = code
            self.world.changed.notify_all()

    def bell(self):
        return Bell().heard

    def ended(self):
        with self.world.changed:
            return [*self.world.held[self.party], *self.world.declined]

    def answer(self, request, seconds):
        begun = self.asked.setdefault(request, time.monotonic())
        if time.monotonic() - begun < self.delay or not self.answers.wait(min(seconds, 0.1)):
            return None
        with self.world.changed:
            there = self.world.changed.wait_for(
                lambda: all(request in held for held in self.world.held), min(seconds, 0.1)
            )
            if there:
                share = np.frombuffer(self.world.held[self.party][request]).reshape(-1, 4)
                self.answered += 1
                return "answered", (share @ WEIGHTS).tobytes()
        if request in self.world.declined:
            why = f"beta does not allow it ({self.world.declined[request]})"
            told = {"code": "declined-elsewhere", "message": why}
            return "refused", json.dumps(told).encode()
        self.grace = getattr(self, "grace", {})
        begun = self.grace.setdefault(request, time.monotonic())
        if time.monotonic() - begun < self.world.grace:
            return None
        told = {"code": "missing-elsewhere", "message": "beta has no share of it"}
        return "refused", json.dumps(told).encode()

    def times(self, request):
        return TIMES

    def forget(self, request):
        self.forgotten.append(request)
        with self.world.changed:
            return self.world.held[self.party].pop(request, None) is not None

    def leave(self):
        if self.state == "ready":
            self.state = "draining"
        self.ends.set()

    def breaks(self, state, why, suspects=()):
        """Ends this life by an error."""
        self.broken = (state, why, list(suspects))
        self.ends.set()


class FakeSharing:
    """A client's side of a world, as `_tacit.Sharing` is."""

    def __init__(self, described):
        self.parties = json.loads(described)["parties"]

    def split(self, array, named):
        assert named is None
        values, shape = array
        x = np.frombuffer(values, "<f4").astype(np.float64).reshape(shape)
        shares = [np.random.default_rng().normal(size=x.shape) for _ in range(self.parties - 1)]
        shares.append(x - sum(shares))
        return shape[0], [share.tobytes() for share in shares]

    def join(self, items, shares):
        if len({len(share) for share in shares}) != 1:
            raise TacitError("the answers do not fit together")
        whole = sum(np.frombuffer(share) for share in shares).astype("<f4")
        return whole.tobytes(), [items, whole.size // items]


def config(folder, party, port, models=("digits",), clients=(), *, issuers=(), **service):
    """What `serve_config` gives of one party's `serve.toml`."""
    home = folder / f"party{party}"
    whole = {
        "listen": f"127.0.0.1:{port}",
        "certificate": None,
        "key": None,
        "origins": [],
        "queue": 8,
        "batch": 4,
        "wait_ms": 2,
        "keep_s": 5,
        "body_mb": 0.1,
        "request_s": 3,
        "audit": str(home / "audit.jsonl"),
        "log": "text",
        **service,
    }
    peers = [
        {"name": name, "address": f"127.0.0.1:{9000 + i}", "certificate": str(home / "cert.pem")}
        for i, name in enumerate(NAMES)
    ]
    return {
        "party": {
            "id": party,
            "key": str(home / "key.pem"),
            "certificate": str(home / "cert.pem"),
        },
        "run": {"protocol": "falcon"},
        "parties": peers,
        "models": [table_of(name, place) for place, name in enumerate(models)],
        "service": whole,
        "clients": list(clients),
        "issuers": list(issuers),
    }


def table_of(name, place=0, version="1"):
    """A table of `[[models]]`."""
    return {"name": name, "version": version, "place": place, "whole": f"{name} {version}"}


def client_table(name, key, **more):
    """A table of `[[clients]]`."""
    return {"name": name, "key_sha256": hashlib.sha256(key.encode()).hexdigest(), **more}


def keys(folder):
    """Keys and certificates of three parties, as `tacit init` makes them."""
    _tacit.init(str(folder), json.dumps({"protocol": "falcon", "port": 7100}))


class Running:
    """A party that serves on a thread."""

    def __init__(self, config, services, quick=()):
        self.config, self.services = config, services
        self.party = serving.Party("serve.toml", "off", self._core, lambda _: self.config)
        for name, value in dict(quick).items():
            object.__setattr__(self.party.host.limits, name, value)
        self.server = serving.server_of(self.party)
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.error = None

    @property
    def address(self):
        return self.config["service"]["listen"]

    @property
    def port(self):
        return int(self.address.split(":")[1])

    @property
    def url(self):
        return f"http://{self.address}"

    @property
    def audited(self):
        lines = self.party.audit.path.read_text().splitlines()
        return [json.loads(line) for line in lines]

    def _core(self, _, name, version):
        found = self.services.get((name, version)) or self.services.get(name)
        if found is None:
            raise TacitError(f"there is no core of {name}")
        return found

    def _run(self):
        try:
            asyncio.run(serving.serve(self.party, signals=False, server=self.server))
        except BaseException as error:
            self.error = error

    def start(self):
        self.thread.start()
        until = time.monotonic() + 5
        while not self.server.started and time.monotonic() < until and not self.error:
            time.sleep(0.005)
        assert self.server.started, self.error
        return self

    def stop(self):
        for service in self.services.values():
            service.leave()
        self.server.should_exit = True


@contextmanager
def parties(folder, clients=((), (), ()), models=("digits",), quick=(), **service):
    """Three parties that serve, and the worlds of their models."""
    if not (folder / "party0").exists():
        keys(folder)
    worlds = {name: World(name) for name in models}
    running = []
    try:
        for party in range(3):
            services = {name: FakeService(world, party) for name, world in worlds.items()}
            made = config(folder, party, free_ports(1)[0], models, clients[party], **service)
            running.append(Running(made, services, quick).start())
        wait_for(lambda: all(not one.party.host.reasons() for one in running))
        yield running, worlds
    finally:
        for one in running:
            one.stop()
        for one in running:
            one.thread.join(10)


def wait_for(there, seconds=5.0):
    """Waits until something holds."""
    until = time.monotonic() + seconds
    while not there():
        assert time.monotonic() < until, "it did not come to hold"
        time.sleep(0.01)
