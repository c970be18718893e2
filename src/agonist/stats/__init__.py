"""What may be said of a sample: aggregates with intervals, comparisons with a verdict, curves over steps, and their pictures.

from agonist.stats import summarise, compare
summarise([0.91, 0.97, 0.95])              one group of runs, several seeds of one task
compare([0.5, 0.6, 0.4], [0.9, 0.8, 1.0])  the second against the first: better, worse, equivalent, or too few to tell
"""

from agonist.stats.summary import summarise
from agonist.stats.verdict import compare

__all__ = ["compare", "summarise"]
