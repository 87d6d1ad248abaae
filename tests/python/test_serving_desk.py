"""Requests of which the core loses sight, while connections come and go."""

import asyncio
import json
import secrets
import threading
from types import SimpleNamespace

import pytest
from serving_fakes import Bell

from tacit.serving.desk import Desk
from tacit.serving.refusals import Refusal
from tacit.serving.wire import Asked

UNKNOWN = {"code": "unknown", "message": "this party has no such request, or has forgotten it"}
LAB = SimpleNamespace(name="lab")


class Core:
    """Answers a request that it holds once it may; looked at too often, it ends all waiting."""

    def __init__(self):
        self.held, self.looked = set(), 0
        self.resent, self.forgot = threading.Event(), threading.Event()
        self.may_answer = threading.Event()

    def submit(self, client, session, request, items, share):
        if request in self.held:
            self.resent.set()
        self.held.add(request)

    def bell(self):
        return Bell().heard

    def ended(self):
        # Ends with an answer; what it has forgotten, it no longer knows.
        return list(self.held) if self.may_answer.is_set() else []

    def answer(self, request, seconds):
        self.looked += 1
        if self.looked > 50:
            return "refused", json.dumps({"code": "internal", "message": "it spins"}).encode()
        if request not in self.held:
            return "refused", json.dumps(UNKNOWN).encode()
        may = self.may_answer.wait(min(seconds, 0.1)) and request in self.held
        return ("answered", b"right") if may else None

    def forget(self, request):
        # Leaves a request that comes again meanwhile the time to get ahead of this.
        self.resent.wait(0.3)
        self.held.discard(request)
        self.forgot.set()
        return True


class Purse:
    """What was charged in all."""

    def __init__(self):
        self.charged = 0

    def charge(self, client, items):
        self.charged += items

    def refund(self, client, items):
        self.charged -= items


async def never():
    await asyncio.Event().wait()


@pytest.fixture
def core():
    return Core()


@pytest.fixture
def desk(core):
    made = Desk(core, Purse(), 5.0)
    yield made
    core.may_answer.set()
    made.close()


def test_a_request_sent_again_as_its_connection_goes_is_answered(core, desk):
    """The place of the first connection is freed, but not the one of the second."""
    asked = Asked(secrets.token_bytes(16), 1, "ab", b"share")

    async def run():
        gone = asyncio.Event()
        ticket = await desk.take(LAB, asked)
        first = asyncio.ensure_future(desk.answer(asked, ticket, 5.0, gone.wait))
        await asyncio.sleep(0)
        gone.set()
        # The connection has gone, and what frees its place is on its way.
        while ticket.watchers:
            await asyncio.sleep(0)
        again = await desk.take(LAB, asked)
        await asyncio.to_thread(core.forgot.wait, 5)
        core.may_answer.set()
        found = await desk.answer(asked, again, 5.0, never)
        await asyncio.gather(first, return_exceptions=True)
        assert not desk.bell.waits
        return found

    assert asyncio.run(run()) == b"right"
    assert core.looked < 10 and desk.policy.charged == 1


def test_a_request_that_the_core_has_forgotten_is_refused_at_once(core, desk):
    """The core may keep too many answers to keep this one."""
    asked = Asked(secrets.token_bytes(16), 1, "ab", b"share")

    async def run():
        ticket = await desk.take(LAB, asked)
        core.held.clear()
        await desk.answer(asked, ticket, 5.0, never)

    with pytest.raises(Refusal, match="forgotten") as caught:
        asyncio.run(run())
    assert caught.value.code == "failed" and core.looked < 10
    # It may have been computed.
    assert desk.policy.charged == 1
