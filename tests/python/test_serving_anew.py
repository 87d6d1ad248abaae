"""Requests and answers of one session, at parties that have met anew since."""

import secrets

import numpy as np
import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("aiohttp")

from serving_fakes import parties
from test_serving_http import ask_all, body, post, refused, shares


@pytest.fixture
def three(tmp_path):
    with parties(tmp_path) as (running, worlds):
        yield running, worlds["digits"]


def test_parties_that_meet_anew_while_a_body_is_read(three, monkeypatch):
    """Nothing that was judged by one session's plan is computed in another."""
    running, world = three
    core, old = running[0].services["digits"], body(world, bytes(64))
    before = core.described()
    monkeypatch.setattr(core, "described", lambda: before)
    world.session = secrets.token_hex(16)
    refused(post(running[0], *old), 409, "other-session")


def test_an_answer_of_a_session_is_not_given_in_another(three):
    running, world = three
    number, parts = secrets.token_bytes(16), shares(np.ones((2, 4)))
    ask_all(running, [body(world, part, number=number) for part in parts])
    world.session = secrets.token_hex(16)
    for party, part in zip(running, parts, strict=True):
        refused(post(party, *body(world, part, number=number)), 409, "reused")
