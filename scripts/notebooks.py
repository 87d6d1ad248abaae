"""Runs the notebooks of `examples/notebooks/` and writes `docs/notebooks/`, with their pictures.

Of a notebook its metadata say what it needs, under `tacit`: `packages` that can be imported, a file
`data` of $TACIT_DATA, and what it has `pip` download.
"""

import argparse
import importlib.util
import io
import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from results import conditions

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
RENDERED = ROOT / "docs" / "notebooks"
LIMIT = 600
MEMORY = "import resource; print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)"
RUNNERS = ["ipykernel", "nbclient", "nbformat"]


def read(path):
    """Reads a notebook from its file."""
    import nbformat

    return nbformat.read(path, as_version=4)


def lacking(notebook):
    """Why a notebook cannot run here; None where it can."""
    needs = notebook.metadata["tacit"]
    packages = [*RUNNERS, *needs["packages"]]
    if absent := [name for name in packages if importlib.util.find_spec(name) is None]:
        return f"not installed: {', '.join(absent)}"
    if "data" in needs:
        if not os.environ.get("TACIT_DATA"):
            return "TACIT_DATA is not set"
        file = Path(os.environ["TACIT_DATA"]) / needs["data"]
        if not file.exists():
            return f"{file} is not there"
    if "pip" in needs:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--dry-run", "--ignore-installed"]
        found = subprocess.run(
            [*pip, "--no-deps", needs["pip"]], capture_output=True, text=True, check=False
        )
        if found.returncode:
            last = found.stderr.strip().splitlines()[-1:]
            return f"pip cannot fetch {needs['pip']}: {' '.join(last)}"
    return None


def execute(notebook):
    """Runs all cells in a folder of their own; what that took, in seconds and in MB of memory."""
    from nbclient import NotebookClient
    from nbformat.v4 import new_code_cell

    notebook.cells.append(new_code_cell(MEMORY))
    begin = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        where = {"metadata": {"path": folder}}
        NotebookClient(notebook, timeout=LIMIT, resources=where).execute()
    seconds = time.monotonic() - begin
    kilobytes = int(notebook.cells.pop().outputs[0].text)
    return seconds, kilobytes / 1000


def render(notebook, name, seconds, megabytes):
    """Writes what was run as a page, and its pictures beside it."""
    from nbconvert import MarkdownExporter

    exporter = MarkdownExporter()
    body, resources = exporter.from_notebook_node(
        notebook,
        {"unique_key": name, "output_files_dir": ".", "metadata": {"name": name}},
    )
    RENDERED.mkdir(parents=True, exist_ok=True)
    for old in RENDERED.glob(f"{name}-*.png"):
        old.unlink()
    for number, (file, data) in enumerate(resources["outputs"].items(), 1):
        picture = f"{name}-{number}.png"
        (RENDERED / picture).write_bytes(smaller(data))
        link = rf"!\[\w+\]\(\S*{re.escape(Path(file).name)}\)"
        body = re.sub(link, f"![what the cell above draws]({picture})", body)
    source = f"[{name}.ipynb](../../examples/notebooks/{name}.ipynb)"
    foot = f"{source} in {seconds:.0f} s with {megabytes:,.0f} MB of memory. {conditions()}"
    page = f"{tidied(body)}\n\n---\n\n`make notebooks` ran {foot}\n"
    (RENDERED / f"{name}.md").write_text(page, encoding="utf-8")


def tidied(page):
    """A page without blanks at the ends of lines, and without rows of empty lines but in code."""
    page = re.sub(r"[ \t]+$", "", page, flags=re.MULTILINE)
    parts = re.split(r"(^```.*?^```$)", page, flags=re.MULTILINE | re.DOTALL)
    parts[::2] = [re.sub(r"\n{3,}", "\n\n", part) for part in parts[::2]]
    return "".join(parts).strip()


def smaller(png):
    """The picture with 256 colours at most."""
    from PIL import Image

    found = io.BytesIO()
    picture = Image.open(io.BytesIO(png)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(found, "PNG", optimize=True)
    return found.getvalue()


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", help="which notebooks; all when not given")
    names = options.parse_args().names
    if unknown := set(names) - {path.stem for path in NOTEBOOKS}:
        raise SystemExit(f"there is no notebook {', '.join(sorted(unknown))}")
    for path in NOTEBOOKS:
        if names and path.stem not in names:
            continue
        notebook = read(path)
        if reason := lacking(notebook):
            print(f"{path.stem}: left out, {reason}")
            continue
        seconds, megabytes = execute(notebook)
        render(notebook, path.stem, seconds, megabytes)
        print(f"{path.stem}: {seconds:.0f} s, {megabytes:,.0f} MB of memory")


if __name__ == "__main__":
    main()
