"""Runs every command and every block of Python of the README and of the pages for each role.

Each page is read from an empty directory by somebody who has what the page supposes, as
`scripts/tours/` lists it, and in the page's order. A table says what each command took. It fails
where a command fails, and where one of the README takes more than a minute or 1 GB.
"""

import argparse
import importlib.util
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from pathlib import Path

from tours.pages import PACKAGES, PAGES, ROOT, RUN, blocks, lines

LIMIT = 300
README_SECONDS, README_MEGABYTES = 60, 1000
PARTIES = range(3)
MEASURED = Path(__file__).parent / "tours" / "measured.py"


@dataclass
class Row:
    """What a command took; `why` says what went wrong, or why it was left out."""

    role: str
    command: str
    seconds: float | None = None
    megabytes: float | None = None
    why: str = ""
    output: str = ""

    @property
    def left_out(self):
        return self.seconds is None

    @property
    def ok(self):
        return not self.why or self.left_out


class Started:
    """A command that runs, in a group of its own; its output goes to a file."""

    def __init__(self, line, folder):
        scripts = str(Path(sys.executable).parent)
        path = os.pathsep.join([scripts, os.environ["PATH"]])
        cache = {"XDG_CACHE_HOME": str(folder / ".cache")}
        self.began = time.monotonic()
        self.output = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.used = tempfile.NamedTemporaryFile("r")  # noqa: SIM115
        self.process = subprocess.Popen(
            [sys.executable, str(MEASURED), self.used.name, *line],
            cwd=folder,
            env={**os.environ, **cache, "PATH": path, "COLUMNS": "80"},
            stdout=self.output,
            stderr=subprocess.STDOUT,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        self.timer = threading.Timer(LIMIT, self.kill)
        self.timer.start()

    def kill(self):
        os.killpg(self.process.pid, signal.SIGKILL)

    def end(self):
        """Seconds, megabytes of the largest process, the exit code and the output."""
        code = self.process.wait()
        seconds = time.monotonic() - self.began
        self.timer.cancel()
        with self.used:
            kilobytes = int(Path(self.used.name).read_text() or 0)
        self.output.seek(0)
        with self.output:
            output = self.output.read()
        return seconds, kilobytes * 1024 / 1e6, code, output


def shell(line, folder):
    return Started(["sh", "-eu", "-c", line], folder)


def python(code, folder):
    return Started([sys.executable, "-c", code], folder)


def finished(row, started):
    """The row with what its commands took, which run at once."""
    ended = [each.end() for each in started]
    row.seconds = max(seconds for seconds, *_ in ended)
    row.megabytes = max(megabytes for _, megabytes, *_ in ended)
    row.output = "\n".join(output for *_, output in ended)
    codes = [code for _, _, code, _ in ended]
    if any(codes):
        last = row.output.strip().splitlines()[-1:]
        row.why = f"exit code {max(codes, key=abs)}: {' '.join(last)}"
    return row


def lacking(text):
    """Why a block cannot run here; nothing where it can."""
    needed = {name for word, name in PACKAGES.items() if word in text}
    absent = sorted(name for name in needed if importlib.util.find_spec(name) is None)
    return f"not installed: {', '.join(absent)}" if absent else ""


def move_ports(folder):
    """Gives three parties that are fresh from `tacit init` ports that are free here."""
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in PARTIES]
    ports = [str(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    for config in folder.glob("parties/*/*.toml"):
        text = re.sub("710([012])", lambda found: ports[int(found[1])], config.read_text())
        config.write_text(text)


def train_apart(folder):
    """Describes the network and a party's data, as `tacit init --training` asks for."""
    for party in PARTIES:
        config = folder / "parties" / f"party{party}" / "train.toml"
        text = config.read_text()
        text = text.replace("input = [1, 28, 28]", "input = [1, 8, 8]")
        text = re.sub(
            r'^network = "[^"]*"',
            'layers = [{ type = "linear", outputs = 10 }]',
            text,
            count=1,
            flags=re.MULTILINE,
        )
        text = text.replace("\noutputs = 10\n", "\n").replace("batch = 128", "batch = 32")
        if party == 1:
            source = folder / "digits.npz"
            text = text.replace("# [[data]]", f'[[data]]\ntrain = "npz:{source}"\n#')
        config.write_text(text)


def together(text, folder):
    """The commands that parties run at once, each with its folder; none where a block has none."""
    parties = folder / "parties"
    found = lines(text)
    if "tacit party --config parties/" in text:
        return [(line, folder) for line in found]
    if "--stay" in text:
        owner, others = found
        return [(owner if party == 1 else others, parties / f"party{party}") for party in PARTIES]
    if "tacit party" in text:
        return [(found[0], parties / f"party{party}") for party in PARTIES]
    if "train.toml" in text:
        trained = found[-1]
        return [(trained.replace("party1", f"party{party}"), folder) for party in PARTIES]
    return []


def serve(role, text, folder):
    """Makes the parties of a service, then runs what starts, asks and stops them as one script."""
    first, *rest = lines(text)
    yield finished(Row(role, first), [shell(first, folder)])
    script = "\n".join([*rest, "wait"])
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(2 * len(PARTIES))]
    free = [str(each.getsockname()[1]) for each in sockets]
    for each in sockets:
        each.close()
    told = ["7100", "7116", "7132", "8100", "8101", "8102"]
    for config in folder.glob("clinic/*/serve.toml"):
        words = config.read_text()
        for port, other in zip(told, free, strict=True):
            words = words.replace(f":{port}", f":{other}")
        config.write_text(words)
    for port, other in zip(told, free, strict=True):
        script = script.replace(f":{port}", f":{other}")
    row = Row(role, "; ".join(rest))
    yield finished(row, [Started(["bash", "-eu", "-c", script], folder)])


def shell_rows(role, text, folder):
    """Runs a block of commands, one after the other or by all parties at once."""
    if "tacit serve" in text:
        yield from serve(role, text, folder)
        return
    at_once = together(text, folder)
    if "train.toml" in text:
        first = lines(text)[0]
        yield finished(Row(role, first), [shell(first, folder)])
        train_apart(folder)
    if at_once:
        move_ports(folder)
        row = Row(role, "; ".join(dict.fromkeys(line for line, _ in at_once)))
        yield finished(row, [shell(line, place) for line, place in at_once])
        return
    for line in lines(text):
        yield finished(Row(role, line), [shell(line, folder)])


def console_rows(role, text):
    """The targets of the Makefile: all are there; the demo runs, from here."""
    for line in lines(text):
        target = line.split()[1]
        made = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, check=False)
        row = Row(role, line)
        if made.returncode:
            row.seconds, row.why = 0.0, made.stderr.decode().strip()
        elif target == "demo":
            row = finished(row, [Started([sys.executable, "examples/digits/demo.py"], ROOT)])
        else:
            row.why = "the target is there; it is not run here"
        yield row


def block_rows(page, kind, text, folder):
    """Runs one block of a page."""
    before = next((code for word, code in page.before.items() if word in text), None)
    if reason := lacking(text):
        yield Row(page.role, text.strip().splitlines()[0], why=reason)
    elif kind == "console":
        yield from console_rows(page.role, text)
    elif kind == "sh":
        yield from shell_rows(page.role, text, folder)
    elif kind == "python":
        named = next((line for line in text.splitlines() if "tacit." in line), text.splitlines()[0])
        row = Row(page.role, f"python: {named.strip()}")
        yield finished(row, [python((before or "") + text, folder)])
    elif before is not None:
        row = Row(page.role, "the config: tacit train page.toml --plan")
        if not os.environ.get("TACIT_DATA"):
            row.why = "TACIT_DATA is not set"
            yield row
            return
        (folder / "page.toml").write_text(text)
        yield finished(row, [shell("tacit train page.toml --plan", folder)])


def page_rows(page, kinds=RUN):
    """Reads a page from an empty directory and runs what it says, or its blocks of these kinds."""
    with tempfile.TemporaryDirectory(prefix="tacit-tour-") as place:
        folder = Path(place)
        shutil.copytree(ROOT / "examples", folder / "examples")
        page.stage(folder)
        for kind, text in blocks(page):
            if kind not in kinds:
                continue
            for row in block_rows(page, kind, text, folder):
                if page.path == "README.md" and row.ok and not row.left_out:
                    if row.seconds > README_SECONDS:
                        row.why = f"more than {README_SECONDS} s"
                    elif row.megabytes > README_MEGABYTES:
                        row.why = f"more than {README_MEGABYTES} MB"
                yield row


def table(rows):
    """What was run, in a table."""
    from rich.table import Table

    found = Table("role", "command", "seconds", "MB", "ok", title="The tour")
    for row in rows:
        took = ["", ""] if row.left_out else [f"{row.seconds:.1f}", f"{row.megabytes:.0f}"]
        state = "left out" if row.left_out else "yes" if row.ok else "NO"
        command = row.command if not row.why else f"{row.command}\n({row.why})"
        found.add_row(row.role, command.replace("[", r"\["), *took, state)
    return found


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("pages", nargs="*", help="which pages, by a part of their path; else all")
    wanted = options.parse_args().pages
    chosen = [page for page in PAGES if not wanted or any(name in page.path for name in wanted)]
    if not chosen:
        raise SystemExit(f"there is no page {', '.join(wanted)}")
    rows = []
    for page in chosen:
        for row in page_rows(page):
            rows.append(row)
            print(f"{page.path}: {row.command.splitlines()[0]} ... {row.why or 'ok'}", flush=True)
            if not row.ok:
                print(row.output)
    from rich.console import Console

    Console(width=120).print(table(rows))
    failed = [row for row in rows if not row.ok]
    skipped = sum(row.left_out for row in rows)
    print(f"{len(rows) - skipped} run, {len(failed)} failed, {skipped} left out")
    raise SystemExit(bool(failed))


if __name__ == "__main__":
    main()
