"""Asks a service: shares the input among its parties, and puts their answers together."""

from __future__ import annotations

import asyncio
import secrets
import ssl
import threading
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from ..batches import is_batches
from ..errors import InputError, ServiceError
from ..inputs import Given
from .described import SAME, Agreed, ApartError, agree
from .prediction import Prediction
from .remote import AnewError, Remote
from .wire import Answered, Asked
from .within import within

UNDER_WAY = 16
"""Requests of a client that are under way at once, each at all parties."""
AT_ONCE = 4
"""Requests of one prediction that are under way at once, where it is larger than one may be."""
FEW = 1 << 18
"""Bytes of a share that are made and read at once, since handing them to a thread takes longer."""
PAUSE, MOST_PAUSE = 0.1, 2.0
"""Seconds before a request is made anew, and what they double up to."""

T = TypeVar("T")


class ChangedError(ServiceError):
    """A model that became another meanwhile: all is asked for anew, of that one."""


class Client:
    """Asks the parties of a service; made by :func:`tacit.connect`.

    No party sees an input or an answer: each has a share. It may be used by several threads and
    tasks at once. Within `with`, or after :meth:`close`, its connections end.
    """

    def __init__(self, parties: Sequence[Remote], timeout: float):
        self.parties: list[Remote] = list(parties)
        self.timeout: float = timeout
        self.known: dict[tuple[str, str | None], Agreed] = {}
        self.asking: dict[tuple[str, str | None], asyncio.Lock] = {}
        self.places: asyncio.Semaphore = asyncio.Semaphore(UNDER_WAY)
        self.loop: asyncio.AbstractEventLoop = asyncio.new_event_loop()
        run = self.loop.run_forever
        self.thread: threading.Thread = threading.Thread(target=run, name="tacit", daemon=True)
        self.thread.start()

    def __repr__(self) -> str:
        return f"<Client of {', '.join(self.names)}>"

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    def names(self) -> list[str]:
        """The addresses of the parties."""
        return [party.url for party in self.parties]

    def close(self) -> None:
        """Ends the connections."""
        if self.loop.is_closed():
            return
        with suppress(Exception):
            self._soon(self._leave()).result(5)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()

    def predict(
        self,
        model: str,
        x: Given | Iterable[Any],
        version: str | None = None,
        *,
        digest: str | None = None,
    ) -> Prediction:
        """Predicts without any party seeing the inputs or the answers.

        Parameters
        ----------
        model
            The name of a model that is served.
        x
            Inputs, as of :meth:`tacit.Session.predict`. More than a request may have are asked
            for in several.
        version
            The model's version; the one that is served if not given.
        digest
            The digest of the only plan that is accepted.

        Raises
        ------
        ServiceError
            The parties differ, one refuses, or there is no answer within the timeout. It names
            the party.
        """
        return self._wait(self._predict(model, x, version, digest))

    async def predict_async(
        self,
        model: str,
        x: Given | Iterable[Any],
        version: str | None = None,
        *,
        digest: str | None = None,
    ) -> Prediction:
        """Asks as :meth:`predict` does among other tasks; cancelling withdraws the request."""
        return await asyncio.wrap_future(self._soon(self._predict(model, x, version, digest)))

    def described(self, model: str, version: str | None = None) -> dict[str, Any]:
        """What all parties say alike of a model: its inputs, outputs, protocol, plan, digest."""
        return dict(self._wait(self._described(model, version)).told)

    def models(self) -> list[str]:
        """The names of the models that all parties serve, as far as this client may ask."""
        return self._wait(self._models())

    async def _models(self) -> list[str]:
        deadline = self.loop.time() + self.timeout
        all_named = await self._all(party.models(deadline) for party in self.parties)
        return [name for name in all_named[0] if all(name in named for named in all_named)]

    async def _predict(
        self, model: str, x: Any, version: str | None, digest: str | None
    ) -> Prediction:
        deadline = self.loop.time() + self.timeout
        batches = list(x) if is_batches(x) else [x]
        if not batches:
            raise InputError("there is no batch; an iterator that was used up gives none again")
        while True:
            agreed = await self._described(model, version, deadline)
            self._check_digest(agreed, digest)
            try:
                return await self._predicted(agreed, (model, version), batches, deadline)
            except ChangedError:
                continue

    async def _predicted(
        self, agreed: Agreed, key: tuple[str, str | None], batches: list[Any], deadline: float
    ) -> Prediction:
        """A prediction by one version of a model."""
        items = np.concatenate([agreed.encode(each) for each in batches])
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(part: np.ndarray) -> tuple[np.ndarray, list[Answered]]:
            async with gate:
                return await self._asked(agreed, key, part, deadline)

        parts = [items[i : i + agreed.max_items] for i in range(0, len(items), agreed.max_items)]
        # Of one request alone no task is made.
        found = [await one(parts[0])] if len(parts) == 1 else await self._all(map(one, parts))
        outputs = agreed.decode(np.concatenate([numbers for numbers, _ in found]))
        asked = [answers for _, answers in found]
        longest = [max(each.seconds for each in of_party) for of_party in zip(*asked, strict=True)]
        told = agreed.told
        return Prediction(
            outputs=outputs,
            **{name: told[name] for name in ("version", "digest", "protocol", "security")},
            model=key[0],
            seconds=self.loop.time() - deadline + self.timeout,
            served=dict(zip(self.names, longest, strict=True)),
            requests=tuple(answers[0].id.hex() for answers in asked),
            redundant=agreed.is_redundant,
        )

    async def _asked(
        self, first: Agreed, key: tuple[str, str | None], part: np.ndarray, deadline: float
    ) -> tuple[np.ndarray, list[Answered]]:
        """The numbers of some items; asked for anew where the parties lost the request."""
        pause = PAUSE
        while True:
            agreed = await self._described(*key, deadline)
            if any(agreed.told[what] != first.told[what] for what in SAME):
                raise ChangedError("the parties serve the model otherwise than before")
            try:
                async with self.places:
                    return await self._once(agreed, part, deadline)
            except ServiceError as error:
                # A version that was described may have gone since.
                if not isinstance(error, AnewError) and error.code != "not-found":
                    raise
                # Another request may have asked anew already.
                if self.known.get(key) is agreed:
                    del self.known[key]
                if self.loop.time() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, MOST_PAUSE)

    async def _once(
        self, agreed: Agreed, part: np.ndarray, deadline: float
    ) -> tuple[np.ndarray, list[Answered]]:
        shares = await _apart(len(part) * agreed.item_bytes, agreed.split, part)
        told, number = agreed.told, secrets.token_bytes(16)
        most = (16 << 20) + 512 * part.size
        answers = await self._all(
            party.infer(
                told["name"],
                told["version"],
                Asked(number, len(part), told["session"], share),
                deadline,
                most,
            )
            for party, share in zip(self.parties, shares, strict=True)
        )
        expected = (number, told["name"], told["version"], told["session"], told["digest"])
        for party, place, answer in zip(self.parties, agreed.order, answers, strict=True):
            if answer.facts != expected or answer.party != place:
                told = f"{party.url} answered another request, session, model or party"
                raise ServiceError(told, address=party.url, code="mixed")
        shared = [answer.share for answer in answers]
        joined = await _apart(max(map(len, shared)), agreed.join, len(part), shared)
        return joined, answers

    async def _described(
        self, model: str, version: str | None, deadline: float | None = None
    ) -> Agreed:
        """What all parties say alike of a model; asked for once, however many wait for it."""
        deadline = self.loop.time() + self.timeout if deadline is None else deadline
        async with self.asking.setdefault((model, version), asyncio.Lock()):
            known = self.known.get((model, version))
            return known or await self._describe(model, version, deadline)

    async def _describe(self, model: str, version: str | None, deadline: float) -> Agreed:
        pause = PAUSE
        while True:
            said = await self._all(
                party.describe(model, version, deadline) for party in self.parties
            )
            try:
                found = await self._agreed(said, deadline)
                break
            except ApartError:
                if self.loop.time() + pause > deadline:
                    raise
            await asyncio.sleep(pause)
            pause = min(2 * pause, MOST_PAUSE)
        if found.told["name"] != model or version not in (None, found.told["version"]):
            raise ServiceError("the parties describe another model than the one asked for")
        self.known[model, version] = found
        return found

    async def _agreed(self, said: Sequence[bytes], deadline: float) -> Agreed:
        """What all parties say alike, read by a thread: a party may say much in few bytes."""
        reading = asyncio.to_thread(agree, self.names, said)
        try:
            return await within(max(deadline - self.loop.time(), 0.001), reading)
        except asyncio.TimeoutError:
            told = "what the parties say of the model was not read in time"
            raise ServiceError(told, code="timeout") from None

    def _check_digest(self, agreed: Agreed, digest: str | None) -> None:
        if digest is not None and agreed.told["digest"] != digest:
            told = f"the model's plan has the digest {agreed.told['digest']}, not {digest}"
            raise ServiceError(f"{told}: it is another model", code="other-digest")

    async def _all(self, each: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
        """The results of all coroutines; the first error ends the others."""
        tasks = [asyncio.ensure_future(one) for one in each]
        try:
            await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
            done = [task for task in tasks if task.done()]
            return [task.result() for task in done if task.exception() or len(done) == len(tasks)]
        finally:
            for task in tasks:
                task.cancel()
            # What has ended well needs no turn of the loop more.
            if not all(map(_ended_well, tasks)):
                await asyncio.gather(*tasks, return_exceptions=True)

    async def _leave(self) -> None:
        for party in self.parties:
            await party.close()

    def _soon(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        if self.loop.is_closed():
            work.close()
            raise ServiceError("this client is closed; connect again")
        return asyncio.run_coroutine_threadsafe(work, self.loop)

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        future = self._soon(work)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise


def _ended_well(task: asyncio.Future[Any]) -> bool:
    return task.done() and not task.cancelled() and task.exception() is None


async def _apart(size: int, work: Callable[..., T], *given: Any) -> T:
    """What the work gives; on more than a few bytes it is a thread's, lest other requests wait."""
    if size <= FEW:
        return work(*given)
    return await asyncio.to_thread(work, *given)


def connect(
    parties: Sequence[str],
    *,
    key: str | None = None,
    keys: Sequence[str] | Mapping[str, str] | None = None,
    certificates: Sequence[str | Path] | str | Path | None = None,
    timeout: float = 60.0,
    identity: tuple[str | Path, str | Path] | None = None,
) -> Client:
    """Makes a client of the parties at these addresses; see :func:`tacit.connect`."""
    if isinstance(parties, str) or len(set(parties)) != len(parties) or not parties:
        raise ServiceError("name every party's address once, as in ['https://a:8100', ...]")
    trust = ssl.create_default_context()
    # aiohttp speaks nothing else.
    trust.set_alpn_protocols(["http/1.1"])
    given = [certificates] if isinstance(certificates, (str, Path)) else certificates or ()
    for path in given:
        try:
            trust.load_verify_locations(cafile=str(path))
        except ssl.SSLError:
            raise ServiceError(f"{path} is no certificate in PEM") from None
    if identity is not None:
        try:
            trust.load_cert_chain(*(str(path) for path in identity), password="")
        except ssl.SSLError:
            told = f"{identity[0]} is no certificate, or {identity[1]} is not its key"
            raise ServiceError(f"{told} without a password") from None
    each = _keys(parties, key, keys)
    return Client(
        [Remote(url, one, trust) for url, one in zip(parties, each, strict=True)], timeout
    )


def _keys(
    parties: Sequence[str], key: str | None, keys: Sequence[str] | Mapping[str, str] | None
) -> list[str | None]:
    """The key for each party."""
    if keys is None:
        return [key] * len(parties)
    if key is not None:
        raise ServiceError("give key or keys, not both")
    if isinstance(keys, Mapping):
        unknown = [url for url in keys if url not in parties]
        if unknown:
            raise ServiceError(f"keys: {unknown[0]!r} is no party here")
        return [keys.get(url) for url in parties]
    if isinstance(keys, str) or len(keys) != len(parties):
        raise ServiceError("keys: give one for every party, in their order")
    return list(keys)
