"""A service's answers, one at a time and to 100 clients; fills `serving` of docs/results.md.

    make serving

Three (of SiRnn two) processes of `tacit serve` on this machine's loopback, with TLS between them
and an audit log on disk, network A over 64 bits, one image a request. One client asks one image
after the other; then 100 clients ask as fast as they get answers, for a minute, all of them in one
process. Answers are compared with those of the model in the clear.
"""

import argparse
import json
import os
import random
import re
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np

import tacit
from results import markdown, write_section
from tacit import _tacit

ROWS = {
    "bicoptor": ("bicoptor", "semi-honest", 16),
    "bicoptor, empty pool": ("bicoptor", "semi-honest", 0),
    "falcon": ("falcon", "semi-honest", 16),
    "falcon, malicious": ("falcon", "malicious", 16),
    "shamir": ("shamir", "semi-honest", 16),
    "shamir, empty pool": ("shamir", "semi-honest", 0),
    "sirnn": ("sirnn", "semi-honest", 16),
    "sirnn, empty pool": ("sirnn", "semi-honest", 0),
}
CLIENTS = 100
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


def one_by_one(client, images, right, most):
    """Milliseconds of one request after the other."""
    client.predict("model", images[:1])
    time.sleep(1.0)
    taken = []
    for i in range(ALONE):
        start = time.perf_counter()
        answer = client.predict("model", images[i : i + 1])
        taken.append(1e3 * (time.perf_counter() - start))
        check(answer, right[i], most)
        time.sleep(0.02)
    return taken


def check(answer, right, most):
    if np.abs(np.asarray(answer.output)[0] - right).max() > most:
        raise SystemExit("an answer is wrong")


def at_once(client, images, right, most, seconds):
    """Milliseconds of each request of many clients at once, and what went wrong."""
    taken, lost, lock = [], [], threading.Lock()
    end = time.monotonic() + seconds

    def ask(seed):
        drawn = random.Random(seed)
        while time.monotonic() < end:
            i = drawn.randrange(len(images))
            start = time.perf_counter()
            try:
                check(client.predict("model", images[i : i + 1]), right[i], most)
            except tacit.TacitError as error:
                with lock:
                    lost.append(str(error))
                continue
            with lock:
                taken.append(1e3 * (time.perf_counter() - start))

    threads = [threading.Thread(target=ask, args=(seed,)) for seed in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return taken, lost


def percentile(taken, share):
    return sorted(taken)[min(int(share * len(taken)), len(taken) - 1)]


def busy(urls):
    """Requests that found the queue full."""
    import httpx

    text = httpx.get(urls[0] + "/metrics").text
    found = re.findall(r"^tacit_core_busy_total\S* (\S+)$", text, re.MULTILINE)
    return sum(float(number) for number in found)


def measure(name, seconds, path, images, right):
    protocol, security, pool = ROWS[name]
    most = ERROR.get(protocol, 0.02)
    with (
        tempfile.TemporaryDirectory() as folder,
        Service(Path(folder) / "p", protocol, security, pool, path) as service,
        tacit.connect(service.urls, timeout=120) as client,
    ):
        alone = one_by_one(client, images, right, most)
        taken, lost = at_once(client, images, right, most, seconds)
        full = busy(service.urls)
    if lost:
        print(lost[:3])
    return [
        name,
        f"{statistics.median(alone):.1f} ms",
        f"{max(alone):.1f} ms",
        f"{len(taken) / seconds:.0f} /s",
        f"{percentile(taken, 0.5):.0f} ms",
        f"{percentile(taken, 0.99):.0f} ms",
        f"{100 * full / max(len(taken) + full, 1):.1f} %",
        str(len(lost)),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--only", nargs="*", choices=list(ROWS), default=list(ROWS))
    parser.add_argument("--no-write", action="store_true")
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
        "slowest of 50",
        "100 clients",
        "median",
        "p99",
        "busy",
        "lost",
    ]
    if not args.no_write:
        write_section("serving", markdown(heads, rows))


if __name__ == "__main__":
    main()
