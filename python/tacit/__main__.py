"""`python -m tacit` is the `tacit` command."""

import sys


def run() -> int:
    """Runs the command; Ctrl-C ends it also while its modules are loaded."""
    try:
        from .cli import main  # noqa: PLC0415

        return main()
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(run())
