"""What mkdocs does beside its own when it builds the site.

The pages are read on GitHub, too, where a link may lead to any file of the repository. So the files
at its root become pages of the site, README.md its first, and a link to what is no page becomes the
path of the file.
"""

import posixpath
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MADE = {"README.md": "index.md"} | {
    name: f"project/{name}" for name in ("CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md")
}
"""Files at the repository's root, and the pages that they become."""

FENCED = re.compile(r"(^ *```.*?^ *```)", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")
ATTRIBUTE = re.compile(r"\b(src|srcset|href)=\"([^\"]+)\"")
COMMENT = re.compile(r"^<!--.*?-->\n?", re.MULTILINE | re.DOTALL)


def on_files(files, config):
    """Adds the pages that are made of files at the root."""
    from mkdocs.structure.files import File

    for source, page in MADE.items():
        text = (ROOT / source).read_text(encoding="utf-8")
        files.append(File.generated(config, page, content=text))
    return files


def on_page_markdown(markdown, page, config, files):
    """The page's text, with links that lead to pages of the site, without the marks of scripts."""
    uri = page.file.src_uri
    sources = {made: source for source, made in MADE.items()}
    # Where the file is in the repository, from which its links start.
    here = posixpath.dirname(sources.get(uri, f"docs/{uri}"))
    there = posixpath.dirname(uri) or "."

    def lead(target):
        """Where a link leads from this page; None where it leads to no page or picture."""
        path, mark, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target) or not path:
            return target
        path = posixpath.normpath(posixpath.join(here, path))
        inside = MADE.get(path) or (path[5:] if path.startswith("docs/") else None)
        if inside is None or files.get_file_from_path(inside) is None:
            if not (ROOT / path).exists():
                return target  # mkdocs says that it leads nowhere
            return None
        return posixpath.relpath(inside, there) + mark + anchor

    def link(match):
        mark, words, target = match.groups()
        found = lead(target)
        if found is None:
            path = posixpath.normpath(posixpath.join(here, target))
            return f"{words} (`{path}`)"
        return f"{mark}[{words}]({found})"

    def attribute(match):
        return f'{match[1]}="{lead(match[2]) or match[2]}"'

    parts = FENCED.split(markdown)
    for at in range(0, len(parts), 2):
        text = COMMENT.sub("", parts[at])
        parts[at] = ATTRIBUTE.sub(attribute, LINK.sub(link, text))
    return "".join(parts)
