"""`python -m cepheid` is `cepheid`."""

import sys

from cepheid.cli.interrupt import INTERRUPTED, end_when_interrupted, is_interrupted


def start() -> int:
    """The command; it can be interrupted while it is loaded, too."""
    try:
        end_when_interrupted()
        from cepheid.cli.main import main

        return main()
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception:
        if is_interrupted():
            return INTERRUPTED
        raise


if __name__ == "__main__":
    sys.exit(start())
