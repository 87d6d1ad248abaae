"""Takes the pictures of docs/pictures/: demo, run, page of results, metrics, notebook, site.

Each is of what the program shows when it runs here and now, taken with Chromium, which `CHROMIUM`
names where it is elsewhere. `pip install --group docs --group notebooks` brings the rest.
"""

import argparse
import functools
import http.server
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

from notebooks import smaller

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "pictures"
LARGEST = 150_000
"""Bytes of a picture."""

COLUMNS = 80
TERMINAL = """<!doctype html><meta charset="utf-8"><style>
body {{ margin: 0; background: #12181b }}
pre {{ font: 15px/17.45px "DejaVu Sans Mono", monospace; color: #d7e0e0; padding: 16px 20px;
margin: 0 }}
{stylesheet}
</style><pre>{code}</pre>"""
CELLS = [
    """import numpy as np
import tacit

x, y = np.load("images.npy"), np.load("labels.npy")
model = tacit.compile("examples/digits/digits.onnx", samples=x[:64])
model""",
    """with tacit.local("bicoptor", network="wan") as session:
    result = session.predict(model, x[64:164], labels=y[64:164], check=True)
result""",
]
"""The notebook that is shown."""


def photograph(address, width, height, *, dark=False, scale=1.0):
    """A picture of a page as PNG, without the empty rows at its end."""
    program = os.environ.get("CHROMIUM") or shutil.which("chromium") or "chromium"
    with tempfile.TemporaryDirectory(prefix="tacit-") as folder:
        file = Path(folder) / "picture.png"
        options = [
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-quic",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--hide-scrollbars",
            f"--user-data-dir={folder}/profile",
            f"--blink-settings=preferredColorScheme={0 if dark else 1}",
            f"--force-device-scale-factor={scale}",
            "--virtual-time-budget=4000",
            f"--window-size={width},{height}",
            f"--screenshot={file}",
        ]
        subprocess.run([program, *options, address], check=True, capture_output=True, timeout=120)
        return cropped(file.read_bytes())


def cropped(png):
    """The picture without the rows at its end that are all of one colour, but a few."""
    import io

    from PIL import Image, ImageChops

    picture = Image.open(io.BytesIO(png)).convert("RGB")
    empty = Image.new("RGB", picture.size, picture.getpixel((picture.width - 1, 0)))
    last = picture.getpixel((picture.width - 1, picture.height - 1))
    empty.paste(last, (0, 0, *picture.size))
    box = ImageChops.difference(picture, empty).getbbox()
    end = min(picture.height, (box[3] if box else picture.height) + 20)
    found = io.BytesIO()
    picture.crop((0, 0, picture.width, end)).save(found, "PNG")
    return found.getvalue()


def save(name, png):
    """Writes a picture, of a modest size."""
    data = smaller(png)
    if len(data) > LARGEST:
        raise SystemExit(f"{name} has {len(data)} bytes, and {LARGEST} are the most")
    (PICTURES / name).write_bytes(data)
    print(f"docs/pictures/{name}: {len(data) / 1000:.0f} kB")


def run(folder, line):
    """What a command prints on a terminal of 80 columns."""
    terminal = {"COLUMNS": str(COLUMNS), "FORCE_COLOR": "1", "TERM": "xterm-256color"}
    environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"}
    done = subprocess.run(
        line,
        cwd=folder,
        env={**environment, **terminal},
        check=True,
        capture_output=True,
        text=True,
    )
    return done.stdout


def terminal(folder, name, shown, output, lines):
    """A picture of a command and of the first lines that it prints."""
    from rich.console import Console
    from rich.terminal_theme import DIMMED_MONOKAI
    from rich.text import Text

    with (folder / "console.txt").open("w") as nowhere:
        console = Console(record=True, width=COLUMNS, file=nowhere)
        console.print(Text(f"$ {shown}", style="bold #7fd1c4"), soft_wrap=True)
        for line in output.splitlines()[:lines]:
            console.print(Text.from_ansi(line), soft_wrap=True)
    page = folder / f"{name}.html"
    text = console.export_html(code_format=TERMINAL, theme=DIMMED_MONOKAI)
    page.write_text(text, encoding="utf-8")
    save(f"{name}.png", photograph(page.as_uri(), 770, 1400, scale=1.25))


def both(name, address, width, height):
    """Pictures of a page in light and dark."""
    for kind in ("light", "dark"):
        save(f"{name}-{kind}.png", photograph(address, width, height, dark=kind == "dark"))


def take_demo(folder):
    output = run(folder, [sys.executable, "examples/digits/demo.py"])
    terminal(folder, "demo", "make demo", output, 38)


def take_terminal(folder):
    options = ["--input", "images.npy", "--labels", "labels.npy", "--check"]
    command = ["run", "examples/digits/digits.onnx", *options]
    output = run(folder, [sys.executable, "-m", "tacit", *command])
    shown = " ".join(["tacit", *command]).replace(" --labels", " \\\n    --labels")
    terminal(folder, "terminal", shown, output, 60)


def take_metrics(folder):
    """A party of three after its clients have asked for a while, three of them at once."""
    from concurrent.futures import ThreadPoolExecutor

    import numpy as np

    import tacit
    from serving import Service

    x, model = np.load(folder / "images.npy"), ROOT / "examples" / "digits" / "digits.onnx"
    with Service(folder / "parties", "bicoptor", "semi-honest", 16, model) as service:
        with tacit.connect(service.urls, timeout=60) as client, ThreadPoolExecutor(3) as threads:
            asked = [threads.submit(client.predict, "model", x[i : i + 1]) for i in range(300)]
            for each in asked:
                each.result()
        # The party makes the material that these have used.
        time.sleep(2)
        command = ["metrics", service.urls[0]]
        output = run(folder, [sys.executable, "-m", "tacit", *command])
    terminal(folder, "metrics", " ".join(["tacit", *command]), output, 60)


def take_result(folder):
    options = ["--input", "images.npy", "--labels", "labels.npy", "--check", "--network", "wan"]
    command = ["run", "examples/digits/digits.onnx", *options, "--html", "page.html"]
    run(folder, [sys.executable, "-m", "tacit", *command])
    both("result", (folder / "page.html").as_uri(), 960, 1740)


def take_notebook(folder):
    from nbclient import NotebookClient
    from nbconvert import HTMLExporter
    from nbformat.v4 import new_code_cell, new_notebook

    notebook = new_notebook(cells=[new_code_cell(cell) for cell in CELLS])
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": folder}}).execute()
    body, _ = HTMLExporter(template_name="lab").from_notebook_node(notebook)
    page = folder / "notebook.html"
    page.write_text(body, encoding="utf-8")
    save("notebook.png", photograph(page.as_uri(), 900, 1300))


def take_site(folder):
    line = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", folder]
    subprocess.run(line, cwd=ROOT, check=True)

    class Quiet(http.server.SimpleHTTPRequestHandler):
        def log_message(self, *_):
            pass

    handler = functools.partial(Quiet, directory=folder)
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/protocols/index.html"
        both("site", address, 1280, 820)
        server.shutdown()


PARTS = {
    name.removeprefix("take_"): part
    for name, part in list(globals().items())
    if name.startswith("take_")
}


def main():
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("names", nargs="*", help=f"which of {', '.join(PARTS)}; all if not given")
    names = options.parse_args().names
    if unknown := set(names) - set(PARTS):
        raise SystemExit(f"there is no picture {', '.join(sorted(unknown))}")
    for name in names or PARTS:
        with tempfile.TemporaryDirectory(prefix="tacit-") as place:
            folder = Path(place)
            if name != "site":
                shutil.copytree(ROOT / "examples", folder / "examples")
                line = ["examples/digits/data.py", "images.npy", "labels.npy"]
                run(folder, [sys.executable, *line])
            PARTS[name](folder)


if __name__ == "__main__":
    main()
