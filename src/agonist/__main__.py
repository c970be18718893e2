"""`python -m agonist` is `agonist`."""

import sys

from agonist.cli import main

sys.exit(main())
