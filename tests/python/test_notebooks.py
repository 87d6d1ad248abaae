"""The notebooks run, and the pages of the documentation that show them are of their code.

Only the quickest runs unasked. `make notebooks` runs all of them and writes the pages; so do these
tests where $TACIT_NOTEBOOKS is set, without the pages.
"""

import os
import re
import struct

import pytest

import notebooks

ROOT = notebooks.ROOT
QUICKEST = "bank-forest"
LARGEST = 80_000
each = pytest.mark.parametrize("path", notebooks.NOTEBOOKS, ids=lambda path: path.stem)


@pytest.fixture
def notebook(path):
    pytest.importorskip("nbformat", reason="nbformat is not installed")
    return notebooks.read(path)


def page(path):
    return (notebooks.RENDERED / f"{path.stem}.md").read_text()


def test_there_are_four():
    assert len(notebooks.NOTEBOOKS) == 4
    assert QUICKEST in {path.stem for path in notebooks.NOTEBOOKS}


@each
def test_notebook_is_valid_and_holds_no_outputs(path, notebook):
    import nbformat

    nbformat.validate(notebook)
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert codes
    assert not any(cell.outputs or cell.execution_count for cell in codes)
    # What it asserts is what makes it a test.
    assert "assert " in "\n".join(cell.source for cell in codes)


@each
def test_page_shows_the_cells_of_its_notebook(path, notebook):
    shown = re.findall(r"^```python\n(.*?)\n```$", page(path), re.MULTILINE | re.DOTALL)
    again = "make notebooks writes the page again"
    assert shown == [c.source for c in notebook.cells if c.cell_type == "code"], again
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            assert cell.source in page(path), again


@each
def test_page_has_pictures_of_modest_size(path):
    pictures = re.findall(r"!\[[^\]]+\]\((\S+)\)", page(path))
    files = sorted(notebooks.RENDERED.glob(f"{path.stem}-*.png"))
    assert pictures
    assert sorted(pictures) == [file.name for file in files]
    for file in files:
        data = file.read_bytes()
        assert len(data) < LARGEST
        assert data.startswith(b"\x89PNG")
        width, height = struct.unpack(">II", data[16:24])
        assert min(width, height) > 200


@each
def test_documents_lead_to_the_page(path):
    assert f"{path.stem}.md" in (ROOT / "docs" / "notebooks" / "README.md").read_text()


@each
def test_notebook_runs(path, notebook):
    if path.stem != QUICKEST and not os.environ.get("TACIT_NOTEBOOKS"):
        pytest.skip("make notebooks runs it; so does this test where TACIT_NOTEBOOKS is set")
    if reason := notebooks.lacking(notebook):
        pytest.skip(reason)
    notebooks.execute(notebook)
