"""Pages fit a phone, a tablet and a screen: nothing is cut and nobody has to scroll sideways."""

import html
import json
import re
import subprocess

import numpy as np
import pytest
from browser_build import browser, skipped

import tacit
from tacit.cli import main

pytestmark = skipped(None if browser() else "Chromium is not installed")
WIDTHS = (320, 390, 768, 1280)
MEASURE = """<!doctype html><meta charset="utf-8"><body><script>
const widths = WIDTHS, texts = TEXTS, found = {};
const own = (element) => element.getBoundingClientRect();
function scrolls(element) {
  for (let at = element; at; at = at.parentElement)
    if (["auto", "scroll"].includes(at.ownerDocument.defaultView.getComputedStyle(at).overflowX))
      return true;
  return false;
}
function look(frame) {
  const page = frame.contentDocument, seen = [];
  const whole = page.documentElement;
  if (whole.scrollWidth > whole.clientWidth) seen.push(`scrolls: ${whole.scrollWidth}`);
  for (const each of page.body.querySelectorAll("*"))
    if (own(each).right > whole.clientWidth + 1 && !scrolls(each))
      seen.push(`beyond: ${each.tagName} ${each.textContent.slice(0, 40)}`);
  for (const text of page.querySelectorAll("svg text")) {
    const [a, b] = [own(text), own(text.closest("svg"))];
    const aside = a.left < b.left - 1 || a.right > b.right + 1;
    if (aside || a.top < b.top - 1 || a.bottom > b.bottom + 1)
      seen.push(`cut: ${text.textContent}`);
  }
  return seen;
}
const waiting = [];
for (const [name, text] of Object.entries(texts))
  for (const width of widths) {
    const frame = document.createElement("iframe");
    frame.style.cssText = `width:${width}px;height:900px;border:0`;
    waiting.push(new Promise((done) => {
      frame.onload = () => { found[`${name} ${width}`] = look(frame); done(); };
    }));
    frame.srcdoc = text;
    document.body.append(frame);
  }
Promise.all(waiting).then(() => {
  document.body.textContent = "FOUND" + JSON.stringify(found) + "DNUOF";
});
</script>"""


def measured(folder, texts):
    """What does not fit of each page at each width, as Chromium lays it out."""
    program = browser()
    assert program is not None
    # Within a script only the end of one must not be read as such.
    told = json.dumps(texts).replace("</", "<\\/")
    page = MEASURE.replace("WIDTHS", json.dumps(WIDTHS)).replace("TEXTS", told)
    (folder / "measure.html").write_text(page, encoding="utf-8")
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=8000"]
    profile = f"--user-data-dir={folder}/profile"
    done = subprocess.run(
        [program, *options, profile, "--dump-dom", (folder / "measure.html").as_uri()],
        check=True,
        capture_output=True,
        text=True,
        timeout=120,
    )
    return json.loads(html.unescape(re.search("FOUND(.*)DNUOF", done.stdout, re.DOTALL)[1]))


@pytest.fixture
def pages(tmp_path, digits_path, digits, monkeypatch):
    """A page of each command that makes some."""
    x, y = digits
    np.save(tmp_path / "x.npy", x[:60])
    np.save(tmp_path / "y.npy", y[:60])
    monkeypatch.chdir(tmp_path)
    own = ["--input", "x.npy", "--labels", "y.npy"]
    truncation = ["analyze", "truncation", str(digits_path), *own, "--items", "10"]
    lines = {
        "run": ["run", str(digits_path), *own, "--check", "--protocol", "shamir", "--parties", "9"],
        "bench": ["bench", "relu", "--n", "100", "--repeat", "1"],
        "analyze": [*truncation, "--fraction-bits", "8,12"],
        "tables": ["tables", "liu24", "--parties", "3"],
    }
    texts = {}
    for name, line in lines.items():
        assert main([*line, "--html", f"{name}.html"]) == 0
        texts[name] = (tmp_path / f"{name}.html").read_text()
    shape = {"input": [1, 8, 8], "layers": [{"type": "linear", "outputs": 10}]}
    trainer = tacit.Trainer(shape, epochs=2, reveal_curve=True)
    trained = trainer.fit([(1, x[:40], y[:40]), (2, x[40:60], y[40:60])], (x[:10], y[:10]))
    texts["train"] = trained.report.to_html()
    return texts


def test_pages_fit_every_width(tmp_path, pages):
    found = measured(tmp_path, pages)
    assert len(found) == len(pages) * len(WIDTHS)
    assert not {where: seen for where, seen in found.items() if seen}


def test_what_does_not_fit_is_seen(tmp_path):
    wide = '<body style="margin:0"><div style="width:900px">wide</div>'
    kept = '<body><div style="overflow-x:auto"><div style="width:900px">kept</div></div>'
    drawn = '<body><svg width="90" height="20"><text x="60" y="15">too long a word</text></svg>'
    found = measured(tmp_path, {"wide": wide, "kept": kept, "drawn": drawn})
    assert found["wide 320"] and found["wide 768"] and not found["wide 1280"]
    assert not found["kept 320"]
    assert any(seen.startswith("cut: too long") for seen in found["drawn 1280"])
