"""What a party tells Prometheus, as `tacit metrics` reads it.

Whoever answers at an address may answer as it likes: an answer has a time and a size, leads nowhere
else, and is an error that says what is wrong with it where it is not what a party tells.
"""

from __future__ import annotations

import math
import ssl
import threading
import urllib.request
from collections.abc import Iterable, Mapping
from http.client import HTTPException
from queue import Empty, SimpleQueue
from typing import Any
from urllib.parse import urlsplit

from ..errors import FileError, ServiceError
from ..serving.needs import need
from ..serving.policy import is_loopback
from ..visible import visible

WAIT_S = 10.0
"""Seconds for the whole answer."""
MOST = 4 << 20
"""Bytes of an answer: those of a party have a few kB for each model."""
MOST_LINE = 4096
"""Bytes of a line: what reads it takes the square of its length."""
MARK = "tacit_state"
"""The metric that every party of a service has."""

Labels = Mapping[str, str]
Samples = dict[str, list[tuple[Labels, float]]]
"""Every sample by its name, with its labels."""


def scrape(
    url: str,
    key: str | None = None,
    certificates: Iterable[str] = (),
    seconds: float = WAIT_S,
) -> Samples:
    """The samples that a party of a service tells at its address.

    Parameters
    ----------
    url
        Such as `http://127.0.0.1:8100`; plain HTTP of this machine alone.
    key
        The API key of a client, for a party on another machine.
    certificates
        PEM files of certificates to trust beside those that this machine trusts.
    seconds
        For the whole answer.
    """
    need("serve", "tacit metrics")
    opener = _opener(_trust(checked(url), certificates))
    asked = urllib.request.Request(f"{url.rstrip('/')}/metrics")
    if key is not None:
        asked.add_header("Authorization", f"Bearer {key}")
    found: SimpleQueue[bytes | ServiceError] = SimpleQueue()

    def run() -> None:
        found.put(_asked(opener, asked, url, seconds))

    threading.Thread(target=run, daemon=True).start()
    try:
        told = found.get(timeout=seconds)
    except Empty:
        told = ServiceError(
            f"{url} did not answer within {seconds:g} s", address=url, code="timeout"
        )
    if isinstance(told, ServiceError):
        raise told
    return samples(told, url)


def checked(url: str) -> str:
    """The host of an address, which has a scheme and a host, and nothing that is secret."""
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host, parts = None, urlsplit("")
    plain = parts.scheme == "http"
    more = parts.username or parts.query or parts.fragment or parts.path.strip("/")
    if not host or more or parts.scheme not in ("http", "https"):
        told = "give scheme, host and port alone, such as http://127.0.0.1:8100"
        raise ServiceError(f"{url!r} is no address of a party: {told}")
    if plain and not is_loopback(host):
        told = "plain HTTP is for this machine alone, such as http://127.0.0.1:8100; give https://"
        raise ServiceError(f"{url!r}: {told}")
    return host


def _trust(host: str, certificates: Iterable[str]) -> ssl.SSLContext:
    """Whose certificates are trusted; that of this machine's own party bears a public name."""
    trust = ssl.create_default_context()
    for path in certificates:
        try:
            trust.load_verify_locations(cafile=path)
        except (OSError, ssl.SSLError) as error:
            told = f"{path} is no certificate that can be read ({error})"
            raise FileError(told, source=path) from None
    trust.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    trust.check_hostname = not is_loopback(host)
    return trust


def _opener(trust: ssl.SSLContext) -> urllib.request.OpenerDirector:
    """Asks one address; no proxy, and nobody that it sends whom it answers."""
    opener = urllib.request.OpenerDirector()
    opener.add_handler(urllib.request.HTTPHandler())
    opener.add_handler(urllib.request.HTTPSHandler(context=trust))
    opener.addheaders = [("User-Agent", "tacit")]
    return opener


def _asked(
    opener: urllib.request.OpenerDirector, asked: urllib.request.Request, url: str, seconds: float
) -> bytes | ServiceError:
    try:
        with opener.open(asked, timeout=seconds) as answered:
            status, text = answered.status, answered.read(MOST + 1)
    except (OSError, ValueError, HTTPException) as error:
        why: Any = getattr(error, "reason", None) or error
        told = f"{url} cannot be reached ({visible(why)[:200]}); is the party running there?"
        if isinstance(why, ssl.SSLCertVerificationError):
            told = f"{url}: its certificate is not trusted ({visible(why.verify_message)}); "
            told += "give it by --certificate"
        return ServiceError(told, address=url, code="unreachable")
    if status in (401, 403):
        told = f"{url} asks for the key of a client whose table has metrics = true; "
        told += "give it by --key-file, or ask on its machine"
        return ServiceError(told, address=url, code="unknown-client")
    if status != 200:
        return strange(url, f"it answers with status {status}")
    if len(text) > MOST:
        return strange(url, f"its answer has more than {MOST} bytes")
    return text


def samples(text: bytes, url: str) -> Samples:
    """The samples of an answer, all of them finite; an error if it is not what a party tells."""
    from prometheus_client.parser import text_string_to_metric_families  # noqa: PLC0415

    found: Samples = {}
    if max(map(len, text.split(b"\n"))) > MOST_LINE:
        raise strange(url, f"its answer has a line of more than {MOST_LINE} bytes")
    try:
        for family in text_string_to_metric_families(text.decode()):
            for sample in family.samples:
                found.setdefault(sample.name, []).append((sample.labels, float(sample.value)))
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        raise strange(url, "its answer cannot be read as metrics") from None
    if MARK not in found:
        raise strange(url, f"its answer has no {MARK}")
    for name, each in found.items():
        if name.startswith("tacit_") and not all(math.isfinite(value) for _, value in each):
            raise strange(url, f"{visible(name)[:80]} is not finite")
    return found


def strange(url: str, why: str) -> ServiceError:
    """The error of an address that answers as no party does."""
    told = f"{url} does not tell what a party of a service tells: {why}; is it `tacit serve`?"
    return ServiceError(told, address=url, code="malformed")
