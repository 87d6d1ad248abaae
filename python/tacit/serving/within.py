"""Time limits of what is awaited."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")


async def within(seconds: float, work: Awaitable[T]) -> T:
    """What is awaited, or `asyncio.TimeoutError` after so many seconds.

    Where Python can, without a task of its own, which `asyncio.wait_for` takes before 3.12.
    """
    if sys.version_info < (3, 11):
        return await asyncio.wait_for(work, seconds)
    async with asyncio.timeout(seconds):
        return await work
