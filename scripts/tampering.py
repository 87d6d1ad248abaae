"""Changes the messages of whole programs, one in each run, and writes down how the runs end.

    TACIT_MODELS=... make tampering

The programs and the harness are those of the tests, which ignore these long versions. Without
a folder of models the rows of Network-B are missing. Fills the section `tampering` of
docs/results.md.
"""

import re
import subprocess
from pathlib import Path

from results import markdown, write_section

ROOT = Path(__file__).resolve().parents[1]
TESTS = ["cargo", "test", "--release", "--workspace", "--exclude", "tacit-py"]
TESTS += ["--test", "protocols", "--test", "tampering", "--", "--ignored", "--nocapture"]
# One test at a time: the harness itself fills the machine.
TESTS += ["--test-threads", "1", "every_message", "every_end"]
LINE = re.compile(
    r"tampering, (?P<name>.+): of (?P<messages>\d+) messages (?P<runs>\d+) changed: "
    r"(?P<aborts>\d+) aborts, (?P<unnoticed>\d+) unnoticed, (?P<wrong>\d+) with a wrong answer"
)


def totals():
    """Every program that was run, with its counts."""
    found = []
    with subprocess.Popen(TESTS, cwd=ROOT, stdout=subprocess.PIPE, text=True) as tests:
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
    write_section("tampering", table(totals()))


if __name__ == "__main__":
    main()
