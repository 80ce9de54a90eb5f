"""`python -m cepheid` is `cepheid`."""

import sys

from cepheid.cli.main import main

sys.exit(main())
