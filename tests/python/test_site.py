"""The documentation builds as a site without a warning, and the site needs no other host."""

import importlib.util
import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

ROOT = Path(__file__).resolve().parents[2]
NEEDED = ("mkdocs", "material", "mkdocstrings", "mkdocstrings_handlers.python")
LOADED = {
    "audio": ("src",),
    "embed": ("src",),
    "iframe": ("src",),
    "img": ("src", "srcset"),
    "link": ("href",),
    "object": ("data",),
    "script": ("src",),
    "source": ("src", "srcset"),
    "use": ("href", "xlink:href"),
    "video": ("src", "poster"),
}
"""What a browser loads by itself with a page."""


def there(name):
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    if absent := [name for name in NEEDED if not there(name)]:
        pytest.skip(f"{', '.join(absent)} not installed: pip install --group docs")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1", "NO_COLOR": "1"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert "WARNING" not in done.stderr
    return folder


class Page(HTMLParser):
    """What a page loads and links to, and the places in it."""

    def __init__(self, text):
        super().__init__()
        self.loaded, self.links, self.ids = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        self.ids.add(found.get("id"))
        if tag == "a" and found.get("href"):
            self.links.append(found["href"])
        if tag == "link" and found.get("rel") in ("canonical", "prev", "next"):
            return
        self.loaded += [found[name] for name in LOADED.get(tag, ()) if found.get(name)]


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text(encoding="utf-8")) for path in site.rglob("*.html")}


def test_every_document_is_a_page(site):
    for source in (ROOT / "docs").rglob("*.md"):
        page = source.relative_to(ROOT / "docs").with_suffix(".html")
        name = page.with_name("index.html") if page.name == "README.html" else page
        assert (site / name).exists(), name
    for name in ("CHANGELOG", "CONTRIBUTING", "SECURITY"):
        assert (site / "project" / f"{name}.html").exists()


def test_nothing_is_loaded_from_another_host(site, pages):
    assert len(pages) > 30
    foreign = [
        f"{path.relative_to(site)}: {source}"
        for path, page in pages.items()
        for source in page.loaded
        if urlsplit(source).netloc
    ]
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        loaded = re.findall(r"url\(\s*[\"']?((?:https?:)?//[^)\"']+)", text)
        foreign += [f"{sheet.relative_to(site)}: {source}" for source in loaded]
        foreign += re.findall(r"@import[^;]*//[^;]*", text)
    assert not foreign


def test_what_pages_load_and_link_to_is_there(site, pages):
    broken = []
    for path, page in pages.items():
        if path.name == "404.html":  # it is served for any address, so its paths start at the root
            continue
        for target in [*page.loaded, *page.links]:
            parts = urlsplit(target)
            if parts.scheme or parts.netloc:
                continue
            found = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            found = found / "index.html" if found.is_dir() else found
            where = f"{path.relative_to(site)}: {target}"
            ids = pages[found].ids if parts.fragment and found in pages else {parts.fragment}
            if not found.exists() or parts.fragment not in ids:
                broken.append(where)
    assert not broken


def test_the_reference_has_what_the_package_gives(pages, site):
    import tacit

    ids = pages[site / "api" / "tacit.html"].ids
    missing = [name for name in tacit.__all__ if not name.startswith("_")]
    missing = [name for name in missing if f"tacit.{name}" not in ids]
    assert not missing
    assert "tacit.sklearn.PrivateClassifier" in pages[site / "api" / "sklearn.html"].ids
    assert "tacit.torch.private" in pages[site / "api" / "torch.html"].ids
