"""HTTPS: the certificate that a service shows, and those that its clients show."""

from __future__ import annotations

import ssl
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .._tacit import TacitError
from ..operating.members import secret
from ..operating.rotation import load_key


def tls_of(service: Mapping[str, Any]) -> ssl.SSLContext | None:
    """How clients are met by HTTPS; None where they come by plain HTTP."""
    if not service.get("certificate"):
        return None
    return _context(*_pair(service), service)


def renew(context: ssl.SSLContext | None, service: Mapping[str, Any]) -> None:
    """Shows the certificate that is in its file now to whoever connects from now on.

    A certificate and a key that do not fit are refused, and nothing changes.
    """
    if (context is None) != (not service.get("certificate")):
        raise TacitError("service.certificate: restart the service to begin or end HTTPS")
    if context is None:
        return
    pair = _pair(service)
    _context(*pair, service)
    load_key(context, *pair)


def meet(context: ssl.SSLContext | None, config: Mapping[str, Any]) -> None:
    """Asks clients for their certificates, if any are known by one, whoever has issued it.

    Who it is of, the policy says: one that was taken away is known to nobody, though TLS takes it.
    """
    paths = [each["certificate"] for each in config["clients"] if each.get("certificate")]
    if not paths:
        return
    if context is None:
        told = "a client's certificate needs HTTPS: give service.certificate and service.key"
        raise TacitError(f"clients: {told}")
    context.verify_mode = ssl.CERT_OPTIONAL
    # Each is trusted for itself, also one of an authority that is not trusted here.
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    # Every connection shows its certificate itself.
    context.num_tickets = 0
    for path in paths:
        try:
            context.load_verify_locations(cafile=path)
        except ssl.SSLError:
            raise TacitError(f"clients: {path} is no certificate in PEM") from None


def _pair(service: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """The certificate and the key."""
    return Path(service["certificate"]).read_bytes(), secret(service["key"], "service.key")


def _context(certificate: bytes, key: bytes, service: Mapping[str, Any]) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    try:
        load_key(context, certificate, key)
    except ssl.SSLError:
        path = service["certificate"]
        told = f"{path}: it is no certificate, or service.key is not its key without a password"
        raise TacitError(told) from None
    return context
