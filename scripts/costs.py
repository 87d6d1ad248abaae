"""Writes what a prediction costs, by the number of parties, into docs/protocols/.

Nothing runs: rounds and bytes are those that the protocols declare, which runs keep to the last.
"""

import re
from pathlib import Path

import tacit
from results import markdown

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "docs" / "protocols"
MODEL = ROOT / "examples" / "digits" / "digits.onnx"
SHAMIR = [(n, {"parties": n}) for n in (3, 5, 7, 15, 31, 63)]
SETTINGS = {
    "falcon": [(3, {}), (3, {"security": "malicious"})],
    "bicoptor": [(3, {}), (3, {"sharing": "rss"})],
    "shamir": [*SHAMIR, (7, {"parties": 7, "threshold": 1})],
    "sirnn": [(2, {}), (2, {"ot": "iknp"}), (2, {"ot": "softspoken8"}), (2, {"ot": "silent"})],
}
"""Settings by protocol: how many parties, and what is chosen beside the protocol."""

HEADINGS = [
    "parties",
    "options",
    "images",
    "lan: rounds",
    "busiest party sends, MB",
    "network, s",
    "wan: rounds",
    "busiest party sends, MB",
    "network, s",
]


def cells(model, network, images, protocol, settings):
    """Rounds, megabytes and seconds of both phases."""
    cost = model.predict_cost(images, protocol=protocol, network=network, **settings)
    phases = [cost["offline"], cost["online"]]
    sent = sum(max(phase["bytes_sent"]) for phase in phases)
    seconds = sum(phase["seconds"] for phase in phases)
    return [sum(phase["rounds"] for phase in phases), f"{sent / 1e6:.2f}", f"{seconds:.3f}"]


def table(model, protocol):
    """The costs of one protocol."""
    rows = []
    for parties, settings in SETTINGS[protocol]:
        chosen = [f"`--{key} {value}`" for key, value in settings.items() if key != "parties"]
        for images in (1, 100):
            networks = [cells(model, name, images, protocol, settings) for name in ("lan", "wan")]
            rows.append([parties, " ".join(chosen), images, *networks[0], *networks[1]])
    return markdown(HEADINGS, rows)


def written(model, protocol):
    """The protocol's page as it should read."""
    page = (PAGES / f"{protocol}.md").read_text(encoding="utf-8")
    pattern = re.compile(r"(<!-- costs -->\n).*?(<!-- /costs -->)", re.DOTALL)
    body = table(model, protocol)
    new, count = pattern.subn(lambda found: f"{found[1]}\n{body}\n\n{found[2]}", page)
    if count != 1:
        raise SystemExit(f"docs/protocols/{protocol}.md has no markers <!-- costs -->")
    return new


def main():
    model = tacit.compile(MODEL)
    for protocol in SETTINGS:
        (PAGES / f"{protocol}.md").write_text(written(model, protocol), encoding="utf-8")
        print(f"wrote the costs of docs/protocols/{protocol}.md")


if __name__ == "__main__":
    main()
