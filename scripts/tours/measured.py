"""Runs a command and writes the kilobytes of its largest process: FILE COMMAND...

A process has the memory of the one that started it until it becomes another program, which
counts. So it is started by this small one, not by a test that has half of Python in memory.
"""

import resource
import subprocess
import sys
from pathlib import Path

if __name__ == "__main__":
    code = subprocess.run(sys.argv[2:], check=False).returncode
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    Path(sys.argv[1]).write_text(str(used))
    sys.exit(code if code >= 0 else 128 - code)
