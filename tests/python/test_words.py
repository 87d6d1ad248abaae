"""Words of comments: each stands alone where an editor shows it over the name of its item."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
POINTING = r"(?:it|they|them|these|those)\b"
UNCLEAR = re.compile(
    r"(?:It|Its|They|Their|Theirs|Them|These|Those|That)\b"
    r"|(?:And|Or|But|Also|Likewise|Ditto|Then|Too|So|Such|Instead|Another|Others?)\b"
    r"|(?:The same|Same|As above|As before|Which one)\b"
    rf"|(?:What|Whether|Where|How|When|Why|If|Until|While|As) {POINTING}"
    rf"|(?:(?:One|Some|None|Any|All|Each|Few|Several|Two|Both) of|Of|In|For|From|To|With|By|At|On)"
    rf" {POINTING}"
    r"|The (?:others?|rest|latter|former)[.,:;]"
    r"|(?:How many|How much|Why|What|Who|Where|When|Which|Nothing|Both|Local)\."
)
"""How no comment begins: it speaks of the item before, which a hover does not show."""

FOLDERS = (
    ("crates", "*.rs"),
    ("python/tacit", "*.py*"),
    ("scripts", "*.py"),
    ("tests", "*.py"),
    ("examples", "*.py"),
)
"""Folders whose comments are read, and which of their files."""

DOC = re.compile(r"\s*(?P<mark>//[/!])(?!/) ?(?P<text>.*)")


def rust(path):
    """The first lines of a file's doc comments, with their numbers."""
    before = None
    for number, line in enumerate(path.read_text().splitlines(), 1):
        doc = DOC.match(line)
        if doc and doc["mark"] != before:
            yield number, doc["text"]
        before = doc["mark"] if doc else None


def python(path):
    """The first lines of a file's docstrings, those of variables too, with their numbers."""
    for node in ast.walk(ast.parse(path.read_text())):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield node.lineno, text.strip()


def begins(folder, files):
    """Where a comment of a folder begins as none should: file and line."""
    for path in sorted((ROOT / folder).rglob(files)):
        if "__pycache__" in path.parts or path.suffix not in {".rs", ".py", ".pyi"}:
            continue
        read = rust if path.suffix == ".rs" else python
        for number, text in read(path):
            if UNCLEAR.match(text):
                yield path.relative_to(ROOT).as_posix(), number


@pytest.mark.parametrize(("folder", "files"), FOLDERS)
def test_a_comment_stands_alone(folder, files):
    assert [f"{path}:{number}" for path, number in begins(folder, files)] == []


@pytest.mark.parametrize(
    "text",
    [
        "The same of another model.",
        "One of them.",
        "What they give.",
        "Whether it has ended.",
        "And what it may have beyond.",
        "It as JSON has it.",
        "Its name.",
        "So many bytes nobody can guess.",
        "Those of the large field.",
        "The other.",
        "How many.",
        "Of these the first.",
    ],
)
def test_an_opening_that_points_back_is_seen(text):
    assert UNCLEAR.match(text)


@pytest.mark.parametrize(
    "text",
    [
        "The rest of quotient `x` by the number `by`.",
        "The others that a party knows.",
        "Items of a batch.",
        "How many items the batch has.",
        "Itself, as a number.",
        "Sorts the values.",
        "Thenceforth raised.",
    ],
)
def test_an_opening_that_says_what_it_is_of_is_not(text):
    assert not UNCLEAR.match(text)


def test_the_test_sees_such_comments(tmp_path):
    (tmp_path / "a.rs").write_text(
        "/// The same.\nfn a() {}\n    /// Adds\n    /// The same.\n//! The same as b.\n"
    )
    (tmp_path / "a.py").write_text('def a():\n    """The same as b."""\nC = 1\n"""The same."""\n')
    seen = [number for number, text in rust(tmp_path / "a.rs") if UNCLEAR.match(text)]
    assert seen == [1, 5]
    assert sorted(python(tmp_path / "a.py")) == [(2, "The same as b."), (4, "The same.")]
