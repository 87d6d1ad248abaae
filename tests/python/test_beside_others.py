"""The package in one process with others."""

import os
import subprocess
import sys

TUNABLES = "glibc.rtld.optional_static_tls=0"
"""No room for libraries that want memory of every thread at a fixed place."""


def test_no_memory_of_threads_is_taken_from_other_libraries():
    """The loader has some hundred bytes of such memory; whoever imports torch after us needs them.

    With what glibc keeps for it, `import sklearn, tacit, torch` failed in torch's OpenMP.
    """
    command = [sys.executable, "-c", "import tacit._tacit"]
    env = {**os.environ, "GLIBC_TUNABLES": TUNABLES}
    done = subprocess.run(command, env=env, check=False, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
