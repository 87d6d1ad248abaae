"""What a party says of a model may be anything: a client reads little of it, once, and in time."""

import asyncio
import json
import threading

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("aiohttp")

import numpy as np
from serving_fakes import WEIGHTS, FakeSharing, World, parties
from serving_spoken import answer_head, spoken

import tacit
from tacit import ServiceError
from tacit.serving import client, described, remote, wire

X = np.ones((2, 4), np.float32)


@pytest.fixture(autouse=True)
def shares_by_adding(monkeypatch):
    monkeypatch.setattr(described, "make_sharing", FakeSharing)


@pytest.fixture(scope="module")
def urls(tmp_path_factory):
    with parties(tmp_path_factory.mktemp("described")) as (running, _):
        yield [one.url for one in running]


def test_each_answer_is_read_once_and_beside_the_other_requests(urls, monkeypatch):
    readers, loads = [], json.loads

    def noted(text, *given, **more):
        if isinstance(text, bytes) and b'"parameters"' in text:
            readers.append(threading.current_thread().name)
        return loads(text, *given, **more)

    monkeypatch.setattr(json, "loads", noted)
    with tacit.connect(urls, timeout=4) as service:
        for _ in range(2):
            np.testing.assert_allclose(service.predict("digits", X).output, X @ WEIGHTS, rtol=1e-5)
    assert len(readers) == 3 and "tacit" not in readers


def test_reading_ends_with_the_timeout(urls, monkeypatch):
    goes_on = threading.Event()
    monkeypatch.setattr(client, "agree", lambda *_: goes_on.wait(20))
    with tacit.connect(urls, timeout=0.5) as service:
        try:
            with pytest.raises(ServiceError, match="in time") as caught:
                service.predict("digits", X)
            assert caught.value.code == "timeout" and not goes_on.is_set()
            assert service.models() == ["digits"]
        finally:
            goes_on.set()


def test_the_largest_description_fits():
    """A plan of the most layers that may be, with the longest names, and an input of texts."""
    texts = {"known": [f"{place:020}" for place in range(1 << 16)], "others": False}
    layer = {"name": "n" * 256, "op": {"kind": "linear"}, "rest": "x" * 230}
    told = World().described(0)
    told["inputs"][0]["texts"] = texts
    told["plan"] = {"layers": [layer] * 10_000, "inputs": [{"texts": texts}]}
    answer = json.dumps({"parameters": told}, separators=(",", ":"))
    assert len(answer) < remote.MOST_TOLD


def test_shapes_have_few_axes():
    """The product of 20,000 sizes takes most of a second, in which nothing else runs."""
    told = World().described(0)
    for which, key in (("inputs", "shape"), ("outputs", "item_shape")):
        lies = {**told, which: [{**told[which][0], key: [-1] + [2**31 - 1] * 17}]}
        said = [json.dumps({"parameters": {**lies, "party": party}}).encode() for party in range(3)]
        with pytest.raises(ServiceError, match=r"^a does not describe the model"):
            described.agree("abc", said)


def test_a_refusal_has_few_words():
    """A refusal is read at once: what an answer may have is more."""

    body = b"[" + b"[]," * 30_000 + b"[]]"

    async def large(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(answer_head(503, len(body)) + body)

    async def ask():
        async with spoken(large) as party:
            deadline = asyncio.get_running_loop().time() + 4
            await party.infer("m", "1", wire.Asked(bytes(16), 1, "ab", b""), deadline, 1 << 20)

    with pytest.raises(ServiceError, match="more than 65536 bytes"):
        asyncio.run(ask())
