"""Every citation of the specifications and every link of the documentation leads somewhere."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPECS = {path.name: path for path in (ROOT / "docs" / "spec").glob("*.md")}
CITING = ("crates/**/*.rs", "scripts/**/*.py", "python/**/*.py", "tests/**/*.py")
LINKING = ("*.md", "docs/**/*.md", "examples/**/*.md")
GENERATED = {".git", ".venv", "build", "node_modules", "target"}

NUMBER = r"\d+(?:\.\d+)?"
NUMBERS = rf"{NUMBER}(?:(?:, | and |, and | to ){NUMBER})*"
SECTIONS = rf"sections? (?P<sections>{NUMBERS})(?:, items? (?P<items>{NUMBERS}))?"
# `docs/spec/falcon.md, section 9, item 4`, and in a document `[falcon.md](falcon.md), section 2`.
CITED = re.compile(rf"docs/spec/(?P<file>[\w.-]+\.md)(?:,? {SECTIONS})?")
LINKED = re.compile(rf"\]\((?:[\w./-]*/)?(?P<file>[\w-]+\.md)(?:#[\w-]*)?\)(?:, {SECTIONS})")
OWN = re.compile(SECTIONS)
# A section of the specification whose file is not named.
NAMELESS = re.compile(r"\bspec(?:ification)?(?:'s)?,? sections?\b")
PATH = re.compile(
    r"`(?P<path>(?:crates|docs|examples|python|scripts|tests|tacit-[a-z]+)/[\w./-]+)`"
)
BASES = [ROOT, ROOT / "crates", *ROOT.glob("crates/*"), *ROOT.glob("crates/*/src")]
LINK = re.compile(r"\[[^\]]*\]\((?P<target>[^)\s]+)\)")


def files(patterns):
    found = (path for pattern in patterns for path in ROOT.glob(pattern))
    return sorted(path for path in found if not GENERATED & set(path.relative_to(ROOT).parts))


def prose(path):
    """The file's text with its lines joined, without the marks of comments at their beginnings."""
    lines = (re.sub(r"^\s*(?://[/!]?|#)?\s*", "", line) for line in path.read_text().splitlines())
    return " ".join(lines)


def headings(path):
    """The titles of a document's sections."""
    text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"^#+ +(.+?)\s*$", text, re.MULTILINE)


def anchors(path):
    """The anchors of a document's sections, as the pages that show it make them."""
    seen = {}
    for title in headings(path):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title).lower()
        slug = re.sub(r"[^\w\- ]", "", plain).replace(" ", "-")
        count = seen.get(slug, 0)
        seen[slug] = count + 1
        yield f"{slug}-{count}" if count else slug


def sections(path):
    """The numbered sections of a specification, each with the numbers of the items in it."""
    numbered, current = {}, set()
    for line in path.read_text().splitlines():
        if heading := re.match(rf"#+ +({NUMBER})\.? ", line):
            current = numbered.setdefault(heading[1], set())
        elif item := re.match(r"(\d+)\. ", line):
            current.add(item[1])
    return numbered


def spelled(numbers):
    """What `2, 3.1 and 5 to 7` names."""
    for part in re.split(r", and |, | and ", numbers):
        first, _, last = part.partition(" to ")
        yield first
        if last and "." not in part:
            yield from (str(number) for number in range(int(first) + 1, int(last) + 1))
        elif last:
            yield last


def faults(match, file):
    """What a citation names that the file has not."""
    if file not in SPECS:
        return [f"there is no docs/spec/{file}"]
    numbered, found = sections(SPECS[file]), []
    cited = list(spelled(match["sections"] or ""))
    for section in filter(None, cited):
        if section not in numbered:
            found.append(f"docs/spec/{file} has no section {section}")
    for item in filter(None, spelled(match["items"] or "")):
        if item not in numbered.get(cited[-1], ()):
            found.append(f"section {cited[-1]} of docs/spec/{file} has no item {item}")
    return found


def citing():
    return [path for path in files(CITING + LINKING) if path != Path(__file__)]


def test_citations_name_a_section_that_is_there():
    found, count = [], 0
    for path in citing():
        text = prose(path)
        cited = list(CITED.finditer(text))
        count += len(cited)
        if path.suffix == ".md":
            cited += [match for match in LINKED.finditer(text) if match["file"] in SPECS]
        for match in cited:
            where = path.relative_to(ROOT)
            found += [f"{where}: {fault}" for fault in faults(match, match["file"])]
    assert not found
    assert count > 100, "citations are written in another way"


def test_citations_name_their_file():
    nameless = [str(path) for path in citing() if NAMELESS.search(prose(path))]
    assert not nameless


@pytest.mark.parametrize("file", sorted(SPECS))
def test_a_specification_names_its_own_sections(file):
    """`section 4` is one of the same file, unless another one's name stands before it."""
    text = re.sub(r"`[^`]*`", "", LINKED.sub("", CITED.sub("", prose(SPECS[file]))))
    assert not [fault for match in OWN.finditer(text) for fault in faults(match, file)]


@pytest.mark.parametrize("file", sorted(SPECS))
def test_sections_are_numbered_in_order(file):
    numbers = [title.split(" ")[0].rstrip(".") for title in headings(SPECS[file])[1:]]
    assert all(re.fullmatch(NUMBER, number) for number in numbers), numbers
    places = [tuple(map(int, number.split("."))) for number in numbers]
    assert places == sorted(set(places))
    whole = [place[0] for place in places if len(place) == 1]
    assert whole == list(range(1, len(whole) + 1))


def test_links_lead_to_a_file_and_a_section():
    broken = []
    for path in files(LINKING):
        text = re.sub(r"^```.*?^```", "", path.read_text(), flags=re.MULTILINE | re.DOTALL)
        text = re.sub(r"`[^`\n]*`", "", text)
        for match in LINK.finditer(text):
            name, _, anchor = match["target"].partition("#")
            if re.match(r"[a-z]+:", name):
                continue
            target = (path.parent / name).resolve() if name else path
            there = target.exists() and (
                not anchor or (target.suffix == ".md" and anchor in anchors(target))
            )
            if not there:
                broken.append(f"{path.relative_to(ROOT)}: {match['target']}")
    assert not broken


def test_paths_in_documents_are_there():
    """Paths in documents are there, from the root or from a crate."""
    gone = []
    for file in files(LINKING):
        for match in PATH.finditer(file.read_text()):
            path = match["path"]
            there = any((base / path).exists() for base in BASES)
            # What has been moved may be told of where changes are listed.
            if not there and file.name != "CHANGELOG.md":
                gone.append(f"{file.relative_to(ROOT)}: {path}")
    assert not gone
