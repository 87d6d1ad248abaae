"""Folders of three parties that serve the digits' network, and their processes."""

import json
import os
import subprocess
import sys

from tacit import _tacit

NAMES = ("alpha", "beta", "gamma")
CONFIG = """
[party]
id = {party}
key = "key.pem"
certificate = "cert.pem"
connect_timeout = 20.0

[run]
protocol = "{protocol}"
{run}
model_owner = 0
timeout = 10.0

[[models]]
name = "digits"
version = "2"
{file}
plan = {{ ring = 64, reveal = "logits" }}

[service]
listen = "127.0.0.1:{port}"
{service}
"""
PEER = '\n[[parties]]\nname = "{}"\naddress = "127.0.0.1:{}"\ncertificate = "{}"\n'


def write(folder, model, ports, protocol, *, run="", service=lambda party: ""):
    """Makes the parties' folders; three ports are for clients, three for the parties.

    `run` and `service`, by the party's number, are lines of these tables.
    """
    _tacit.init(str(folder), json.dumps({"protocol": "falcon", "port": 7100}))
    for party in range(3):
        text = CONFIG.format(
            party=party,
            protocol=protocol,
            run=run,
            file=f'file = "{model}"' if party == 0 else "",
            port=ports[party],
            service=service(party),
        )
        for peer, name in enumerate(NAMES):
            certificate = "cert.pem" if peer == party else f"party{peer}.pem"
            text += PEER.format(name, ports[3 + peer], certificate)
        (folder / f"party{party}" / "serve.toml").write_text(text)


def start(folder, party):
    """A party's process, whose log is in its folder."""
    home = folder / f"party{party}"
    line = [sys.executable, "-m", "tacit", "serve", "--config", "serve.toml"]
    with (home / "log").open("a") as log:
        return subprocess.Popen(line, stderr=log, cwd=home, env=os.environ)
