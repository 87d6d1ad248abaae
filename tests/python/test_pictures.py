"""The pictures of the documents are there, of modest size, and shown somewhere."""

import re
import xml.etree.ElementTree as ET

import pytest

import screenshots

ROOT = screenshots.ROOT
PICTURES = sorted(screenshots.PICTURES.glob("*.png")) + sorted(screenshots.PICTURES.glob("*.svg"))


def shown():
    """Every picture that a document or the site's configuration names."""
    found = set()
    for page in [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]:
        text = page.read_text(encoding="utf-8")
        names = re.findall(r"!\[[^\]]+\]\(([^)\s]+)\)|(?:src|srcset)=\"([^\"]+)\"", text)
        found |= {(page.parent / (a or b)).resolve() for a, b in names}
    found.add(ROOT / "docs" / re.search(r"favicon: (\S+)", (ROOT / "mkdocs.yml").read_text())[1])
    return found


@pytest.mark.parametrize("path", PICTURES, ids=lambda path: path.name)
def test_a_picture_is_small_and_shown(path):
    data = path.read_bytes()
    assert len(data) < screenshots.LARGEST
    assert path in shown()
    if path.suffix == ".png":
        assert data.startswith(b"\x89PNG")
    else:
        assert ET.fromstring(data).tag.endswith("svg")
        assert b"http://" not in data.replace(b"http://www.w3.org/2000/svg", b"")


def test_what_is_shown_is_there():
    assert not [str(path) for path in shown() if not path.exists()]


def test_there_is_one_of_each():
    names = {path.stem.removesuffix("-light").removesuffix("-dark") for path in PICTURES}
    assert set(screenshots.PARTS) <= names
