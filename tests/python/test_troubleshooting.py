"""The page about errors has an entry for every kind of error, with the words that it has.

Kinds are read from the source text: the variants of the enums of errors in Rust, and the classes of
exceptions in Python. An entry is a heading, the error's code, and a last line that names its kind.
"""

import re
from pathlib import Path

import pytest

import tacit
from tacit import errors

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "troubleshooting.md").read_text(encoding="utf-8")
CRATES = ROOT / "crates"
PASSED_ON = {"tacit_train::Error::Protocol"}
"""Errors without words of their own, beside those that are `#[error(transparent)]`."""

NAMES = {"tacit-protocols": "tacit_protocols::", "tacit-run": "tacit_run::"} | {
    "tacit-train": "tacit_train::"
}
TYPE = re.compile(
    r"thiserror::Error[^\n]*\n(?P<own>#\[error\(.*?\)\]\n)?pub (?P<what>enum|struct) (?P<name>\w+)"
    r"(?P<body>.*?^\}|\([^\n]*;)",
    re.DOTALL | re.MULTILINE,
)
PLAIN = re.compile(r"^pub enum (?P<name>Error|Loss) (?P<body>\{.*?^\})", re.DOTALL | re.MULTILINE)
VARIANT = re.compile(
    r"(?P<words>^    #\[error\((?:.|\n)*?\)\]\n)?^    (?P<name>[A-Z]\w*)(?=[,({ ])", re.MULTILINE
)


def sources():
    files = sorted(CRATES.glob("*/src/**/*.rs"))
    return {path: path.read_text(encoding="utf-8") for path in files}


def literal(attribute):
    """What a message always says: the pieces of its format between what is filled in."""
    found = re.match(r'\s*#\[error\(\s*"((?:[^"\\]|\\.|\\\n)*)"', attribute or "")
    if not found:
        return []
    text = re.sub(r"\\\n\s*", "", found[1])
    return [piece.strip() for piece in re.split(r"\{[^}]*\}", text) if len(piece.strip()) > 2]


def kinds():
    """Every kind of error in Rust, with what its message always says."""
    found = {}
    for path, text in sources().items():
        crate = NAMES.get(path.relative_to(CRATES).parts[0], "")
        enums = [match for match in TYPE.finditer(text) if match["what"] == "enum"]
        if path.match("tacit-train/src/error.rs") or path.match("tacit-net/src/error.rs"):
            enums += PLAIN.finditer(text)
        for each in enums:
            own = crate if each["name"] == "Error" else ""
            for variant in VARIANT.finditer(each["body"]):
                if "transparent" not in (variant["words"] or ""):
                    name = f"{own}{each['name']}::{variant['name']}"
                    found[name] = literal(variant["words"])
        for each in TYPE.finditer(text):
            if each["what"] == "struct":
                found[each["name"]] = literal(each["own"])
    return {name: words for name, words in found.items() if name not in PASSED_ON}


KINDS = kinds()


def entries():
    """The entries by their codes: their texts, and the kinds that they are about."""
    found = {}
    for part in re.split(r"^### ", PAGE, flags=re.MULTILINE)[1:]:
        code, text = part.split("\n", 1)
        text = text.split("\n## ")[0]
        lines = re.findall(r"^(?:`[\w:.]+`(?:, )?)+$", text, re.MULTILINE)
        named = re.findall(r"`([\w:.]+)`", " ".join(lines))
        named += re.findall(r"\| `(\w+::\w+)` \|$", text, re.MULTILINE)
        if named:
            found[code] = (text, named)
    return found


ENTRIES = entries()


def test_kinds_are_found():
    enums = {name.rpartition("::")[0] for name in KINDS}
    assert {"NetError", "FrameFault", "Loss", "ImportError", "PlanError", "EncodeError"} <= enums
    assert {"tacit_run::Error", "tacit_protocols::Error", "tacit_train::Error"} <= enums
    assert {"ShapeError", "WireError"} <= KINDS.keys()
    assert len(KINDS) > 60
    words = [name for name, pieces in KINDS.items() if pieces]
    assert len(words) > 40


def test_codes_are_stable_and_names_are_right():
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", code) for code in ENTRIES)
    named = [name for _, names in ENTRIES.values() for name in names]
    assert len(named) == len(set(named))
    python = {name for name in named if name.startswith("tacit.")}
    assert set(named) - python == set(KINDS)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_a_kind_has_an_entry_with_its_words(kind):
    texts = [text for text, names in ENTRIES.values() if kind in names]
    assert len(texts) == 1
    said = " ".join(texts[0].split())
    missing = [piece for piece in KINDS[kind] if " ".join(piece.split()) not in said]
    assert not missing


def test_every_exception_has_an_entry():
    classes = {f"tacit.{name}" for name in errors.__all__}
    assert classes <= {f"tacit.{name}" for name in tacit.__all__}
    named = {name for _, names in ENTRIES.values() for name in names if name.startswith("tacit.")}
    assert named == classes


@pytest.mark.parametrize("code", sorted(ENTRIES))
def test_an_entry_has_a_message_and_says_what_to_do(code):
    text, _ = ENTRIES[code]
    assert re.match(r"\n    \S", text), "the message comes first"
    prose = re.sub(r"^(?:    .*|`[\w:.]+`.*)$", "", text, flags=re.MULTILINE).strip()
    assert len(prose) > 15


def test_the_codes_of_errors_are_those_of_the_page():
    text = (CRATES / "tacit-run/src/error/fields.rs").read_text(encoding="utf-8")
    code = text.split("#[cfg(test)]")[0]
    given = set(re.findall(r'"([a-z]+(?:-[a-z]+)*)"', code))
    rust = {c for c, (_, kinds) in ENTRIES.items() if not kinds[0].startswith("tacit.")}
    # An error that ended a run early has the code of its cause; a plan of others is told as theirs.
    assert given | {"ended-early", "invalid-plan", "training-network", "training-setting"} == rust
