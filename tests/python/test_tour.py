"""The tour: every block of the pages for users is run, and every command that they name is one.

Here it takes the pages that are quick, and of the model owner's the code; `make tour` takes all,
and so does this test where $TACIT_TOUR is set. README.md has a test of its own.
"""

import os
import re

import pytest

import tour
from tacit import cli
from tours import pages

SHORT = {
    "docs/data-owner.md": pages.RUN,
    "docs/data.md": pages.RUN,
    "docs/operator.md": pages.RUN,
    "docs/model-owner.md": ("python",),
}
APART = ("docs/notebooks/", "docs/spec/")
"""Pages of notebooks are those that were run; specifications show no commands to run."""

OTHERS = [page for page in tour.PAGES if page.path != "README.md"]
SHAPES = re.compile(r"\||\.\.\.|^COMMAND")
"""Inline commands that stand for several."""


@pytest.mark.parametrize("page", tour.PAGES, ids=lambda page: page.path)
def test_every_block_has_a_language(page):
    assert pages.blocks(page)


def test_no_page_with_commands_is_left_out():
    known = {page.path for page in tour.PAGES}
    for path in sorted(pages.ROOT.glob("docs/**/*.md")):
        name = path.relative_to(pages.ROOT).as_posix()
        if name not in known and not name.startswith(APART):
            kinds = {match["kind"] for match in pages.FENCE.finditer(path.read_text())}
            assert not kinds & {"console", "python", "sh"}, name


@pytest.mark.parametrize("page", OTHERS, ids=lambda page: page.path)
def test_a_page(page):
    kinds = pages.RUN if os.environ.get("TACIT_TOUR") else SHORT.get(page.path)
    if kinds is None:
        pytest.skip("make tour runs it; so does this test where TACIT_TOUR is set")
    rows = list(tour.page_rows(page, kinds))
    assert rows
    failed = [f"{row.command}: {row.why}\n{row.output}" for row in rows if not row.ok]
    assert not failed, "\n".join(failed)


def inline():
    """The commands that pages name within their sentences."""
    for page in [*pages.ROOT.glob("*.md"), *pages.ROOT.glob("docs/**/*.md")]:
        text = pages.FENCE.sub("", page.read_text(encoding="utf-8"))
        for command in re.findall(r"`tacit ([^`]+)`", text):
            if not SHAPES.search(command):
                yield " ".join(command.split())


@pytest.mark.parametrize("command", sorted(set(inline())))
def test_a_command_within_a_sentence_is_one(command, capsys):
    words = command.split()
    try:
        cli.parser().parse_args(words)
    except SystemExit as end:
        told = capsys.readouterr().err
        # The name alone, as of `tacit run`, or with some options, lacks the rest.
        lacks = ("is missing", "required", "expected one argument")
        assert not end.code or any(words in told for words in lacks), told


def test_too_long_or_too_much_is_a_failure(monkeypatch):
    (readme,) = [page for page in tour.PAGES if page.path == "README.md"]
    monkeypatch.setattr(tour, "README_SECONDS", 0)
    monkeypatch.setattr(tour, "blocks", lambda _: [("sh", "true\n")])
    (row,) = tour.page_rows(readme)
    assert not row.ok and row.why == "more than 0 s"
    monkeypatch.setattr(tour, "README_SECONDS", 60)
    monkeypatch.setattr(tour, "README_MEGABYTES", 0)
    (row,) = tour.page_rows(readme)
    assert not row.ok and row.why == "more than 0 MB"
    monkeypatch.setattr(tour, "blocks", lambda _: [("sh", "echo what; exit 3\n")])
    (row,) = tour.page_rows(readme)
    assert not row.ok and row.why == "exit code 3: what"
