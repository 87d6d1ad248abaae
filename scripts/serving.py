"""A service's answers, one at a time and to 100 clients; fills `serving` of docs/results.md.

    make serving

Three (of SiRnn two) processes of `tacit serve` on this machine's loopback, with TLS between them
and an audit log on disk, network A over 64 bits, one image a request. One client asks one image
after the other; then 100 clients ask as fast as they get answers, for a minute, all of them in one
process. Answers are compared with those of the model in the clear; one that is wrong or lost is
counted, and so is every answer of a party that it is busy, after which its client asks it again.
"""

import argparse
import json
import math
import os
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from pathlib import Path

import httpx
import numpy as np

import tacit
from results import markdown, write_section
from tacit import _tacit

ROWS = {
    "bicoptor": ("bicoptor", "semi-honest", 16),
    "bicoptor, empty pool": ("bicoptor", "semi-honest", 0),
    "falcon": ("falcon", "semi-honest", 16),
    "falcon, empty pool": ("falcon", "semi-honest", 0),
    "falcon, malicious": ("falcon", "malicious", 16),
    "falcon, malicious, empty pool": ("falcon", "malicious", 0),
    "shamir": ("shamir", "semi-honest", 16),
    "shamir, empty pool": ("shamir", "semi-honest", 0),
    "sirnn": ("sirnn", "semi-honest", 16),
    "sirnn, empty pool": ("sirnn", "semi-honest", 0),
}
CLIENTS = 100
CONNECTED = 10
"""Connections that these share, each of which lets as many of them ask at once as use it."""
ALONE = 50
ERROR = {"sirnn": 1.0}
"""The most that a right logit differs from clear text, if not 0.02; they deviate by 10. SiRnn's
default of 16 bits is planned without samples here."""


def free_ports(n):
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(n)]
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class Service:
    """Processes of all parties."""

    def __init__(self, folder, protocol, security, pool, model):
        options = {"protocol": protocol, "service": True, "model": str(model)}
        _tacit.init(str(folder), json.dumps(options))
        homes = [folder / "server", folder / "client"]
        if protocol != "sirnn":
            homes = sorted(folder.iterdir())
        http, peers = free_ports(len(homes)), free_ports(len(homes))
        for home in homes:
            text = (home / "serve.toml").read_text()
            text = text.replace('security = "semi-honest"', f'security = "{security}"')
            text = re.sub(r"^pool = \d+", f"pool = {pool}", text, flags=re.MULTILINE)
            for party in range(len(homes)):
                text = text.replace(f":{8100 + party}", f":{http[party]}")
                text = text.replace(f":{7100 + 16 * party}", f":{peers[party]}")
            (home / "serve.toml").write_text(text)
        self.urls = [f"http://127.0.0.1:{port}" for port in http]
        command = [sys.executable, "-m", "tacit", "serve", "--config", "serve.toml"]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self.processes = [subprocess.Popen(command, cwd=home, **quiet) for home in homes]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for process in self.processes:
            process.send_signal(signal.SIGTERM)
        for process in self.processes:
            process.wait(30)


class Counted:
    """What became of requests; milliseconds of those that were answered right."""

    def __init__(self):
        self.taken, self.lost, self.wrong, self.lock = [], [], 0, threading.Lock()

    def ask(self, client, images, right, most, i):
        """Asks for one image, however long it takes."""
        start = time.perf_counter()
        try:
            answer = client.predict("model", images[i : i + 1])
        except tacit.TacitError as error:
            with self.lock:
                self.lost.append(str(error))
            return
        taken = 1e3 * (time.perf_counter() - start)
        off = np.abs(np.asarray(answer.output)[0] - right[i]).max()
        with self.lock:
            # Also one that is no number is wrong.
            if off <= most:
                self.taken.append(taken)
            else:
                self.wrong += 1


def one_by_one(client, images, right, most):
    """One request after the other."""
    client.predict("model", images[:1])
    time.sleep(1.0)
    counted = Counted()
    for i in range(ALONE):
        counted.ask(client, images, right, most, i)
        time.sleep(0.02)
    return counted


def at_once(clients, images, right, most, seconds):
    """Requests of many clients, each of which asks as soon as it has its answer."""
    counted, end = Counted(), time.monotonic() + seconds

    def ask(seed):
        drawn = random.Random(seed)
        while time.monotonic() < end:
            i = drawn.randrange(len(images))
            counted.ask(clients[seed % len(clients)], images, right, most, i)

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return counted


def percentile(taken, share):
    return sorted(taken)[min(int(share * len(taken)), len(taken) - 1)] if taken else math.nan


def told(url, name):
    """A counter of a party's core."""
    text = httpx.get(url + "/metrics").text
    found = re.findall(rf"^tacit_core_{name}_total\S* (\S+)$", text, re.MULTILINE)
    return sum(float(number) for number in found)


def measure(name, seconds, path, images, right):
    protocol, security, pool = ROWS[name]
    most = ERROR.get(protocol, 0.02)
    with (
        tempfile.TemporaryDirectory() as folder,
        Service(Path(folder) / "p", protocol, security, pool, path) as service,
        ExitStack() as stack,
    ):
        clients = [
            stack.enter_context(tacit.connect(service.urls, timeout=120)) for _ in range(CONNECTED)
        ]
        alone = one_by_one(clients[0], images, right, most)
        first = service.urls[0]
        online = 1e3 * told(first, "online_seconds") / max(told(first, "batches"), 1)
        many = at_once(clients, images, right, most, seconds)
        # Each party answers so by itself; clients ask it again.
        busy = sum(told(url, "busy") for url in service.urls)
        asked = len(service.urls) * (len(many.taken) + len(many.lost)) + busy
    lost = alone.lost + many.lost
    if lost:
        print(lost[:3])
    return [
        name,
        f"{percentile(alone.taken, 0.5):.1f} ms",
        f"{online:.1f} ms",
        f"{len(many.taken) / seconds:.0f} /s",
        f"{percentile(many.taken, 0.5):.0f} ms",
        f"{percentile(many.taken, 0.99):.0f} ms",
        str(len(many.taken)),
        str(alone.wrong + many.wrong),
        str(len(lost)),
        f"{busy:.0f} ({100 * busy / max(asked, 1):.1f} %)",
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0, help="of 100 clients, for each row")
    parser.add_argument(
        "--only", nargs="*", choices=list(ROWS), default=list(ROWS), help="these rows"
    )
    parser.add_argument("--no-write", action="store_true", help="leave docs/results.md as it is")
    args = parser.parse_args()
    path = Path(os.environ["TACIT_MODELS"]) / "network-a.onnx"
    images = np.load(path.with_suffix(".samples.npz"))["x"].astype(np.float32)
    right = tacit.compile(path).reference(images)
    rows = []
    for name in args.only:
        rows.append(measure(name, args.seconds, path, images, right))
        print(*rows[-1], sep=" | ", flush=True)
    heads = [
        "",
        "one client: median",
        "of it online",
        "100 clients",
        "median",
        "p99",
        "right",
        "wrong",
        "lost",
        "busy",
    ]
    if not args.no_write:
        write_section("serving", markdown(heads, rows))
    if any(row[heads.index(what)] != "0" for row in rows for what in ("wrong", "lost")):
        raise SystemExit("answers were wrong or lost")


if __name__ == "__main__":
    main()
