"""`python -m agonist` is `agonist`."""

from agonist.cli import main
from agonist.hosts import leave

leave(main())
