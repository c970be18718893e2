"""Many runs as one whole: every combination of some keys, drawn ones, or ever fewer of them for ever longer; each with several seeds.

A sweep is a run of kind `sweep` that trains others: `make_plan` says which, `begin` and `go_on` train them, `report` says what came of
it. Of a study's file, `study.read` makes such a plan for several algorithms on several tasks.
"""

from agonist.sweeps import study
from agonist.sweeps.plan import Plan, make_plan
from agonist.sweeps.report import KIND, best, plan_in, report, sweep_of
from agonist.sweeps.work import begin, begun, check, go_on

__all__ = ["KIND", "Plan", "begin", "begun", "best", "check", "go_on", "make_plan", "plan_in", "report", "study", "sweep_of"]
