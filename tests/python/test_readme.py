"""Runs the commands and the Python code of README.md as written, as `make tour` does."""

import pytest

import tour


@pytest.fixture(scope="module")
def rows():
    (page,) = [page for page in tour.PAGES if page.path == "README.md"]
    return list(tour.page_rows(page))


def test_every_command_runs_in_time_and_memory(rows):
    failed = [f"{row.command}: {row.why}\n{row.output}" for row in rows if not row.ok]
    assert not failed, "\n".join(failed)


def test_they_show_what_the_page_says(rows):
    shown = {row.command: row.output for row in rows}
    checked = [output for command, output in shown.items() if "--check" in command]
    assert checked and all("accuracy" in output for output in checked)
    codes = [output for command, output in shown.items() if command.startswith("python:")]
    assert len(codes) == 2 and all("falcon" in output for output in codes)
    (parties,) = [output for command, output in shown.items() if "tacit party" in command]
    assert "online" in parties
    assert {"make demo", "make test"} <= shown.keys()
    (served,) = [output for command, output in shown.items() if "tacit serve" in command]
    assert "Answers" in served and "has stopped" in served
