"""Writes measured tables into docs/results.md, between markers of their own."""

import os
import platform
import re
import subprocess
from datetime import date
from pathlib import Path

RESULTS = Path(__file__).resolve().parents[1] / "docs" / "results.md"


def write_section(name, text):
    """Replaces what stands between `<!-- NAME -->` and `<!-- /NAME -->` in docs/results.md."""
    pattern = re.compile(rf"(<!-- {name} -->\n).*?(<!-- /{name} -->)", re.DOTALL)
    page = RESULTS.read_text()
    if not pattern.search(page):
        raise SystemExit(f"{RESULTS} has no markers <!-- {name} --> and <!-- /{name} -->")
    body = f"{conditions()}\n\n{text.strip()}\n"
    RESULTS.write_text(pattern.sub(lambda found: found[1] + body + found[2], page))
    print(f"wrote '{name}' of {RESULTS}")


def markdown(headings, rows):
    """A Markdown table of headings and rows."""
    lines = [headings, ["---"] * len(headings), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def conditions():
    """The machine, the commit and the day in one line."""
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    cores = len(os.sched_getaffinity(0))
    return (
        f"Measured {date.today()} at commit {commit or 'unknown'} on {processor()}, {cores} cores."
    )


def processor():
    """The name of this machine's processor."""
    info = Path("/proc/cpuinfo")
    found = re.search(r"model name\s*:\s*(.+)", info.read_text()) if info.exists() else None
    return found[1] if found else platform.machine()
