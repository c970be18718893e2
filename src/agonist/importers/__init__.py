"""Other people's results become runs: marl-eval's JSON, TensorBoard's event files, tables (CSV, Parquet), archives of `runs export`.

A file -> `Foreign` records (`read`, by its content) -> runs of kind `foreign` in a store (`bring`), which list, compare and plot as ours
do. An archive's runs come back as they were (`importers.archives`). Nothing in a file is trusted: it is data, within limits, or a
sentence. What was brought once is not brought again: run.json remembers the hash of its content.
"""

from agonist.importers.bring import Brought, bring
from agonist.importers.foreign import Foreign, read

__all__ = ["Brought", "Foreign", "bring", "read"]
