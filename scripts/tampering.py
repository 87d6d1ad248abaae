"""Changes the messages of whole programs, one in each run, and writes down how the runs end.

    TACIT_MODELS=... make tampering

The programs and the harness are those of the tests, which ignore these long versions. Without
a folder of models the rows of Network-B are missing. Fills sections of docs/results.md: `tampering`
with functions and layers, `tampering-predictions` with whole predictions.
"""

import argparse
import re
import subprocess
from pathlib import Path

from results import markdown, write_section

ROOT = Path(__file__).resolve().parents[1]
SECTIONS = {
    "tampering": ["--package", "tacit-protocols", "--test", "protocols"],
    "tampering-predictions": ["--package", "tacit-nn", "--test", "nn"],
}
# One test at a time: the harness itself fills the machine.
LONG = ["--", "--ignored", "--nocapture", "--test-threads", "1", "every_message", "every_end"]
LINE = re.compile(
    r"tampering, (?P<name>.+): of (?P<messages>\d+) messages (?P<runs>\d+) changed: "
    r"(?P<aborts>\d+) aborts, (?P<unnoticed>\d+) unnoticed, (?P<wrong>\d+) with a wrong answer"
)


def totals(which):
    """Every program of these tests, with its counts."""
    found = []
    command = ["cargo", "test", "--release", *which, *LONG]
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tests:
        for line in tests.stdout:
            print(line, end="", flush=True)
            if match := LINE.search(line):
                found.append(match)
    if tests.returncode:
        raise SystemExit("a test failed; nothing was written")
    return found


def table(found):
    """A row for every program."""
    headings = ["program", "security", "messages", "runs with one changed", "aborts", "unnoticed",
                "wrong answers"]  # fmt: skip
    rows = []
    for program in found:
        name = program["name"].removesuffix(", semi-honest")
        security = "malicious" if name == program["name"] else "semi-honest"
        counts = [program[count] for count in ("messages", "runs", "aborts", "unnoticed", "wrong")]
        rows.append([name, security, *counts])
    return markdown(headings, rows)


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--only", nargs="+", choices=SECTIONS, default=[*SECTIONS])
    for section in options.parse_args().only:
        write_section(section, table(totals(SECTIONS[section])))


if __name__ == "__main__":
    main()
