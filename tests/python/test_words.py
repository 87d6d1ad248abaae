"""Words of comments: each stands alone where an editor shows it over the name of its item."""

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
UNCLEAR = re.compile(r"The same\b")
"""How no comment begins: it speaks of the item before, which a hover does not show."""

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


def begins():
    """Where a comment begins as none should: file and line."""
    sources = [(rust, path) for path in ROOT.glob("crates/**/*.rs")]
    sources += [(python, path) for path in ROOT.glob("python/tacit/**/*.py*") if path.is_file()]
    for read, path in sources:
        if "__pycache__" in path.parts:
            continue
        for number, text in read(path):
            if UNCLEAR.match(text):
                yield path.relative_to(ROOT).as_posix(), number


def test_a_comment_stands_alone():
    assert [f"{path}:{number}" for path, number in begins()] == []


def test_the_test_sees_such_comments(tmp_path):
    (tmp_path / "a.rs").write_text(
        "/// The same.\nfn a() {}\n    /// Adds\n    /// The same.\n//! The same as b.\n"
    )
    (tmp_path / "a.py").write_text('def a():\n    """The same as b."""\nC = 1\n"""The same."""\n')
    seen = [number for number, text in rust(tmp_path / "a.rs") if UNCLEAR.match(text)]
    assert seen == [1, 5]
    assert sorted(python(tmp_path / "a.py")) == [(2, "The same as b."), (4, "The same.")]
