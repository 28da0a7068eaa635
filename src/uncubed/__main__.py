"""`python -m uncubed`: the command line."""

import sys

from uncubed.cli import main

sys.exit(main())
