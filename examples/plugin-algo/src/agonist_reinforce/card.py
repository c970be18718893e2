"""What is listed without importing the algorithm itself: `agonist algos` reads this module, so it stays cheap."""

from agonist.algos import Card

reinforce = Card(
    make="agonist_reinforce.reinforce:make_reinforce",
    config="agonist_reinforce.reinforce:ReinforceConfig",
    about="the plain policy gradient with a baseline, one network for all agents of a role",
    source="Williams 1992, doi:10.1007/BF00992696",
)
