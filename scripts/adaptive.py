"""Lets cheaters that adapt to all they see loose on malicious Falcon, and writes down how it ended.

    make adaptive

The cheaters are those of the tests, which ignore these long versions. Each is also let loose on the
same code without the one defence that stops it. Fills the section `adaptive` of docs/results.md.
"""

import re
import subprocess
from pathlib import Path

from results import markdown, write_section

ROOT = Path(__file__).resolve().parents[1]
COMMAND = ["cargo", "test", "--release", "--package", "tacit-protocols", "--lib"]
# The busy attacks fill the machine by themselves.
LONG = ["--", "--include-ignored", "--nocapture", "--test-threads", "1", "malicious::attacks"]
LINE = re.compile(
    r"adaptive, (?P<name>.+): (?P<runs>\d+) runs, (?P<broken>\d+) broken, "
    r"(?P<unnoticed>\d+) unnoticed"
)


def tallies():
    """Every attack with its most runs."""
    found = {}
    with subprocess.Popen([*COMMAND, *LONG], cwd=ROOT, stdout=subprocess.PIPE, text=True) as tests:
        for line in tests.stdout:
            print(line, end="", flush=True)
            if match := LINE.search(line):
                runs = int(match["runs"])
                if runs >= found.get(match["name"], (0,))[0]:
                    found[match["name"]] = (runs, match["broken"], match["unnoticed"])
    if tests.returncode:
        raise SystemExit("a test failed; nothing was written")
    return found


def table(found):
    """A row for every attack."""
    headings = ["attack", "runs", "broken", "unnoticed"]
    return markdown(headings, [[name, *counts] for name, counts in found.items()])


if __name__ == "__main__":
    write_section("adaptive", table(tallies()))
