"""The client for browsers and its demo page, in a real browser, against three real parties.

`TACIT_WRITE_PICTURE=1` writes `docs/pictures/browser.png` anew.
"""

import base64
import json
import os
import re
import subprocess
import sys
import threading
import time
import urllib.request
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")

import serving_config
from browser_build import CLIENT, ROOT, browser, build, missing, skipped
from ports import free_ports

PICTURE = ROOT / "docs" / "pictures" / "browser.png"
sys.path.append(str(ROOT / "examples" / "browser"))
import serve as page  # noqa: E402

SEVEN = [[[0.25, 0.2], [0.75, 0.2], [0.45, 0.85]], [[0.35, 0.52], [0.72, 0.52]]]
"""The strokes of a 7, in parts of the pad."""


SECRETS = 32
"""Bytes of the secrets that each body ends with under Bicoptor, one for each other party."""

pytestmark = skipped(missing() or (None if browser() else "Chromium is not installed"))


def start(folder, model, protocol, origin, ports):
    """Three processes of `tacit serve`, and their addresses."""
    origins = f'origins = ["{origin}"]'
    serving_config.write(folder, model, ports, protocol, service=lambda _: origins)
    processes = [serving_config.start(folder, party) for party in range(3)]
    return processes, [f"http://127.0.0.1:{port}" for port in ports[:3]]


def wait(urls, processes, seconds=60):
    """Waits until all parties can be asked."""
    until = time.monotonic() + seconds
    for url in urls:
        while True:
            try:
                urllib.request.urlopen(f"{url}/v2/health/ready", timeout=5).close()
                break
            except OSError:
                assert all(process.poll() is None for process in processes), "a party has ended"
                assert time.monotonic() < until, f"{url} is not ready"
                time.sleep(0.1)


@pytest.fixture(scope="module", params=["bicoptor", "falcon"])
def seen(request, tmp_path_factory, digits_path, digits):
    """What a browser did with the page and three parties of a protocol."""
    folder = tmp_path_factory.mktemp(request.param)
    assert browser(), "Chromium is not installed"
    build()
    mine, strangers, *ports = free_ports(8)
    origin = f"http://127.0.0.1:{mine}"
    processes, urls = start(folder, digits_path, request.param, origin, ports)
    servers = []
    try:
        wait(urls, processes)
        for port in (mine, strangers):
            servers.append(page.server(*page.files(urls, "digits"), port))
            threading.Thread(target=servers[-1].serve_forever, daemon=True).start()
        save(folder / "digit.png", digits[0][2, 0])
        write = os.environ.get("TACIT_WRITE_PICTURE") and request.param == "bicoptor"
        settings = {
            "browser": browser(),
            "client": str(CLIENT / "package.json"),
            "url": f"{origin}/",
            "stranger": f"http://127.0.0.1:{strangers}/",
            "strokes": SEVEN,
            "picture": str(folder / "digit.png"),
            "screenshot": str(folder / "both.png") if write else None,
            "phone": str(folder / "phone.png"),
            "seen": str(folder / "seen.json"),
        }
        (folder / "settings.json").write_text(json.dumps(settings))
        drive = ["node", str(Path(__file__).with_name("browser_drive.mjs"))]
        drive.append(str(folder / "settings.json"))
        driven = subprocess.run(drive, check=False, capture_output=True, text=True, timeout=300)
        assert driven.returncode == 0, driven.stderr
        if write:
            keep(settings["screenshot"])
    finally:
        for server in servers:
            server.shutdown()
            server.server_close()
        for process in processes:
            process.terminate()
        codes = [process.wait(15) for process in processes]
    assert codes == [0, 0, 0], [(folder / f"party{i}" / "log").read_text() for i in range(3)]
    found = json.loads((folder / "seen.json").read_text())
    return {**found, "protocol": request.param, "urls": urls, "origin": origin}


def save(path, image):
    """A picture of a digit of the data: large, dark on light."""
    import PIL.Image

    grey = np.round(255 * (1 - np.pad(image, 1))).astype(np.uint8)
    PIL.Image.fromarray(grey).resize((400, 400), PIL.Image.Resampling.BICUBIC).save(path)


def keep(path):
    """Keeps a screenshot in few colours."""
    import PIL.Image

    PICTURE.parent.mkdir(exist_ok=True)
    PIL.Image.open(path).convert("RGB").quantize(64).save(PICTURE, optimize=True)


def expected(path, numbers):
    """The probabilities that onnxruntime has."""
    import onnxruntime

    session = onnxruntime.InferenceSession(path)
    x = np.array(numbers, np.float32).reshape(1, 1, 8, 8)
    logits = session.run(None, {session.get_inputs()[0].name: x})[0][0].astype(np.float64)
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


@pytest.mark.parametrize("how", ["light", "dark", "phone"])
def test_the_answer_is_onnxruntimes(seen, how, digits_path):
    shown = seen[how]
    right = expected(digits_path, shown["numbers"])
    percents = [float(share.removesuffix(" %")) for share in shown["shares"]]
    np.testing.assert_allclose(percents, 100 * right, atol=0.2)
    assert shown["digit"] == str(right.argmax())
    words = rf"It is a {right.argmax()}, at [0-9.]+ %\. Answered in [0-9]+ ms\."
    assert re.fullmatch(words, shown["status"]), shown["status"]
    assert "semi-honest" in shown["facts"] and "trusts the parties" in shown["facts"]


def test_the_drawing_and_the_picture_are_recognised(seen, digits):
    assert seen["light"]["digit"] == "7"
    assert seen["phone"]["digit"] == str(digits[1][2])


def bodies(shown, urls):
    """The shares that went to each party."""
    found = []
    for url in urls:
        (post,) = [post for post in shown["posts"] if post["url"].startswith(url)]
        whole = base64.b64decode(post["body"])
        found.append(whole[int(post["headers"]["inference-header-content-length"]) :])
    return found


@pytest.mark.parametrize("how", ["light", "dark", "phone"])
def test_parties_receive_shares_of_the_numbers(seen, how):
    shown = seen[how]
    sent = bodies(shown, seen["urls"])
    if seen["protocol"] == "bicoptor":
        parts = [body[:-SECRETS] for body in sent[:2]]
        assert len(sent[2]) == SECRETS
    else:
        halves = [(body[: len(body) // 2], body[len(body) // 2 :]) for body in sent]
        assert all(halves[i][1] == halves[(i + 1) % 3][0] for i in range(3))
        parts = [own[16:] for own, _ in halves]
    total = sum(np.frombuffer(part, "<u8") for part in parts).view(np.int64)
    ratio = np.array(shown["numbers"]) * 2.0**18
    np.testing.assert_allclose(total, ratio, atol=1)
    # Each alone is noise: of 256 values, no byte is a favourite.
    for part in parts:
        assert np.bincount(np.frombuffer(part, np.uint8), minlength=256).max() < 16
    for drawn, body in zip(shown["bytes"], sent, strict=True):
        assert bytes(drawn) == body


def test_no_two_questions_have_a_share_in_common(seen):
    light, dark = (bodies(seen[how], seen["urls"]) for how in ("light", "dark"))
    assert seen["light"]["numbers"] == seen["dark"]["numbers"]
    for one, other in zip(light, dark, strict=True):
        assert np.mean(np.frombuffer(one, "u1") == np.frombuffer(other, "u1")) < 0.1


def test_only_the_page_and_the_parties_are_reached(seen):
    allowed = (seen["origin"], *seen["urls"], "data:")
    for how in ("light", "dark", "phone", "keys"):
        assert [url for url in seen[how]["asked"] if not url.startswith(allowed)] == []
        assert seen[how]["complaints"] == []


def test_a_phone_has_it_all(seen):
    assert seen["phone"]["wide"] == 0
    assert seen["phone"]["low"] == []


def test_keys_draw_and_reach_everything(seen):
    keys = seen["keys"]
    assert keys["order"] == ["pad", "ask", "clear", "file"]
    assert len(keys["drawn"]["numbers"]) == 64 and max(keys["drawn"]["numbers"]) > 0.5
    assert keys["drawn"]["status"].startswith("Pen down, 50% from the left")
    assert keys["cleared"]["numbers"] == []


@pytest.mark.parametrize("what", ["script", "core", "randomness", "stranger"])
def test_nothing_is_shared(seen, what):
    shown = seen[what]
    words = {
        "script": "programs have not started",
        "core": "the core in WebAssembly cannot be loaded",
        "randomness": "random generator failed",
        "stranger": "does it allow this page's origin?",
    }
    assert words[what] in shown["status"]
    assert shown["posts"] == []
    assert shown["digit"] == "·"


def test_the_page_lets_nobody_else_in(seen):
    assert seen["stranger"]["refused"] == "connect-src"
    assert seen["stranger"]["written"] == "TypeError"


def test_the_picture_of_the_docs_is_small():
    assert PICTURE.stat().st_size < 150_000
