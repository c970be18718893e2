"""What is listed without importing the environment itself: `agonist envs` reads this module, so it stays cheap."""

from agonist.envs.families import Family

seesaw = Family(
    make="agonist_seesaw.seesaw:make",
    options="agonist_seesaw.seesaw:Options",
    about="Two of unknown weight balance on a plank, the further out the better. Any R: how far it reaches to either side.",
    source="this package",
    scenarios=("2", "4", "6"),
)
