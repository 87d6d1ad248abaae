"""Packages that only a service or its clients need."""

from __future__ import annotations

import importlib

from ..errors import MissingPackageError

PACKAGES = {
    "serve": ("starlette", "uvicorn", "h11", "prometheus_client", "cryptography"),
    "client": ("aiohttp",),
    "oidc": ("jwt", "httpx"),
    "otel": ("opentelemetry.sdk", "opentelemetry.exporter.otlp.proto.http"),
}
"""The packages of each extra, by the names that they are imported by."""


def need(extra: str, what: str) -> None:
    """Refuses to go on without the packages of an extra; `what` is what needs them."""
    for name in PACKAGES[extra]:
        try:
            importlib.import_module(name)
        except ImportError:
            told = f"{what} needs `pip install tacit[{extra}]`: {name} is not installed"
            raise MissingPackageError(told, extra=extra) from None
