"""`python -m tacit` is the `tacit` command."""

import sys

from .cli import main

sys.exit(main())
