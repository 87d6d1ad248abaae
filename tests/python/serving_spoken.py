"""A party of a service that says by HTTP whatever a test has it say."""

import asyncio
import ssl
from contextlib import asynccontextmanager, suppress

from tacit.serving import remote


@asynccontextmanager
async def spoken(script):
    """A party as its client reaches it; `script(reader, writer)` is what each connection does."""
    tasks = set()

    async def met(reader, writer):
        tasks.add(asyncio.current_task())
        with suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            await script(reader, writer)

    server = await asyncio.start_server(met, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    party = remote.Remote(f"http://127.0.0.1:{port}", "key", ssl.create_default_context())
    try:
        yield party
    finally:
        await party.close()
        server.close()
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def answer_head(status, length, *more):
    """The head of an answer with a body of so many bytes."""
    lines = (f"HTTP/1.1 {status} Said", f"content-length: {length}", *more)
    return "".join(f"{line}\r\n" for line in lines).encode() + b"\r\n"
