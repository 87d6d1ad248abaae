"""A party alone that serves with a core of the tests, as a process: CONFIG_FOLDER PORT DELAY."""

import asyncio
import sys
from pathlib import Path

from serving_fakes import FakeService, World, config

from tacit.serving.serve import Party, serve

if __name__ == "__main__":
    folder, port, delay = Path(sys.argv[1]), int(sys.argv[2]), float(sys.argv[3])
    world = World()
    world.held, world.session = [{}], "ab"
    core = FakeService(world, 0)
    core.delay = delay
    made = config(folder, 0, port, request_s=20)
    asyncio.run(serve(Party("serve.toml", "info", lambda *_: core, lambda _: made)))
