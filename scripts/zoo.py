"""Real models that nobody in the project wrote, compiled and predicted privately as they are.

    make zoo
    python scripts/zoo.py --compile            # plans only
    python scripts/zoo.py --only resnet18      # some rows anew
    python scripts/zoo.py --tables             # docs/results.md from the log alone

Every row is a process of its own, so that its memory is its own and a failure ends nothing else.
Rows are kept in a log, and those that are there are not measured again unless `--again` is given.
Fills the sections `zoo-compiles`, `zoo-runs` and `zoo-refused` of docs/results.md.
"""

import argparse
import json
import subprocess
import sys
from pathlib import Path

from results import markdown, write_section
from zoo import catalog
from zoo.judge import BOUND, plan, predict

ROOT = Path(__file__).resolve().parents[1]
FOLDER = ROOT / ".zoo"
SYSTEMS = {
    "clear": {"protocol": "clear"},
    "falcon": {"protocol": "falcon"},
    "bicoptor": {"protocol": "bicoptor"},
    "shamir": {"protocol": "shamir"},
    "sirnn": {"protocol": "sirnn"},
}
"""What models are predicted on."""
LONG = ("clear", "falcon")
"""Systems that predict many inputs of every model; the others are tried on few."""
FEW = 3


def row(name, system, n, budget):
    """Measures one row in this process."""
    _, entry = catalog()[name]
    if system == "compile":
        return plan(entry, FOLDER)
    return predict(entry, FOLDER, SYSTEMS[system], n, budget)


def apart(name, system, n, given):
    """Measures one row in a process of its own; what went wrong if it did."""
    command = [sys.executable, __file__, "--row", name, system, str(n)]
    command += ["--budget", str(given.budget)]
    seconds = given.seconds
    try:
        done = subprocess.run(command, check=False, capture_output=True, text=True, timeout=seconds)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done after {seconds} s"}
    if done.returncode == 0:
        return json.loads(done.stdout.splitlines()[-1])
    lines = done.stderr.strip().splitlines() or [f"ended by signal {-done.returncode}"]
    starts = [i for i, line in enumerate(lines) if line.startswith("tacit.errors.")]
    if starts:
        return {"failed": "\n".join(lines[starts[-1] :]).split(": ", 1)[1]}
    return {"failed": lines[-1], "trace": "\n".join(lines[-8:])}


def tasks(given, entries):
    """Names, systems and numbers of inputs, the compilations first."""
    found = [(name, "compile", 0) for name in entries]
    if given.compile:
        return found
    for system in given.systems:
        for name, (_, entry) in entries.items():
            many = given.most if system in LONG else min(given.most, FEW)
            if system == "clear" or not entry.counted:
                found.append((name, system, many))
    return found


def read(log):
    """The rows of a log by model and system; the later ones of each count."""
    lines = log.read_text().splitlines() if log.exists() else []
    return {(line["model"], line["system"]): line for line in map(json.loads, lines)}


def measure(given, entries):
    """Measures what the log has not yet; what did not compile is not predicted."""
    known = {} if given.again else read(given.log)
    with given.log.open("a") as log:
        for name, system, n in tasks(given, entries):
            if (name, system) in known:
                continue
            if system != "compile" and "failed" in known.get((name, "compile"), {}):
                continue
            found = apart(name, system, n, given)
            line = {"model": name, "system": system, **found}
            known[name, system] = line
            log.write(json.dumps(line) + "\n")
            log.flush()
            print(*[f"{k}={v}" for k, v in line.items() if k != "trace"], flush=True)


def short(why):
    """A refusal in a line of a table."""
    lines = [line.strip() for line in why.strip().splitlines()]
    text = lines[1] if lines[0].endswith(":") and len(lines) > 1 else lines[0]
    more = f" (and {len(lines) - 2} more)" if lines[0].endswith(":") and len(lines) > 2 else ""
    return text.replace("|", "\\|")[:300] + more


def tables(rows, entries):
    """The three sections of docs/results.md."""
    compiles, refused, ran = [], [], []
    for name, (group, _) in entries.items():
        line = rows.get((name, "compile"))
        if line is None:
            continue
        if "failed" in line:
            refused.append([name, group, short(line["failed"])])
            continue
        compiles.append([
            name, group, f"{line['parameters']:,}", line["layers"], f"{line['seconds']:.1f}",
            f"{line['peak']:.0f}", f"{line['counted']['falcon']['sent'][1]:.1f}",
            line["counted"]["falcon"]["rounds"][1],
        ])  # fmt: skip
        for system in SYSTEMS:
            found = rows.get((name, system), {"failed": "not run"})
            counted = line["counted"].get(system)
            if (name, system) in rows or counted:
                ran.append(_ran(name, system, found, counted))
    total = len(compiles) + len(refused)
    head = f"{len(compiles)} of {total} compile as they are ({100 * len(compiles) / total:.0f} %)."
    heads = ["model", "from", "parameters", "layers", "compiles in, s", "MB of memory",
             "Falcon, MB online", "rounds"]  # fmt: skip
    write_section("zoo-compiles", f"{head}\n\n{markdown(heads, compiles)}")
    write_section("zoo-refused", markdown(["model", "from", "why"], refused))
    heads = ["model", "system", "inputs", "error, % of deviation", "same arg-max", "verdict",
             "s an input", "MB an input, offline", "online", "MB of memory"]  # fmt: skip
    if ran:
        write_section("zoo-runs", markdown(heads, ran))


def _ran(name, system, line, counted):
    """A row of what was predicted, or of what is counted where nothing was."""
    if "failed" in line:
        why, sent = short(line["failed"]), ["-"] * 2
        if counted:
            why = f"counted, {why}: {sum(counted['rounds']):,} rounds"
            sent = [f"{mb:.2f}" for mb in counted["sent"]]
        return [name, system, *["-"] * 3, why, "-", *sent, "-"]
    right = line["error"] <= BOUND and line["agree"] == line["judged"]
    ties = f", {line['ties']} ties apart" if line.get("ties") else ""
    return [
        name, system, line["inputs"], f"{100 * line['error']:.3f}",
        f"{line['agree']}/{line['judged']}", ("right" if right else "WRONG") + ties,
        f"{line['wall']:.2f}", *[f"{mb:.2f}" for mb in line["sent"]], f"{line['peak']:.0f}",
    ]  # fmt: skip


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--compile", action="store_true", help="plan only")
    options.add_argument("--only", nargs="+", help="models whose names begin so")
    options.add_argument("--group", nargs="+", help="models from there")
    options.add_argument("--systems", nargs="+", choices=SYSTEMS, default=[*SYSTEMS])
    options.add_argument("--most", type=int, default=100, help="inputs of a row at most")
    options.add_argument("--seconds", type=int, default=1800, help="of a row at most")
    options.add_argument("--budget", type=int, default=600, help="seconds of predictions at most")
    options.add_argument("--again", action="store_true", help="also what the log has")
    options.add_argument("--log", type=Path, default=FOLDER / "rows.jsonl")
    options.add_argument("--tables", action="store_true", help="measure nothing")
    options.add_argument("--no-tables", action="store_true", help="leave docs/results.md alone")
    options.add_argument("--row", nargs=3, metavar=("MODEL", "SYSTEM", "INPUTS"))
    given = options.parse_args()
    if given.row:
        name, system, n = given.row
        print(json.dumps(row(name, system, int(n), given.budget)))
        return
    FOLDER.mkdir(exist_ok=True)
    every = catalog()
    entries = {
        name: found
        for name, found in every.items()
        if (not given.only or name.startswith(tuple(given.only)))
        and (not given.group or found[0] in given.group)
    }
    if not given.tables:
        measure(given, entries)
    if not given.no_tables:
        tables(read(given.log), every)


if __name__ == "__main__":
    main()
