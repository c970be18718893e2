"""The families of environments that come with Agonist, as cards: what is listed without importing what it lists.

An entry point of the group `agonist.envs` names a `Family`, in a module that is cheap to import. `make` names the function
`(scenario, options) -> Env | HostEnv`, and `options` the frozen dataclass of `agonist.types.option` fields that it takes;
both are imported when an environment of the family is asked for.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """A card: what they are and where they are made."""

    make: str  # "module:function"
    options: str  # "module:dataclass"
    about: str
    source: str
    scenarios: tuple[str, ...] = ()  # examples, or all where there are few; empty: the family is one environment
    needs: str = ""  # the module that must be importable
    install: str = ""  # what to type where it is not


lbf = Family(
    make="agonist.envs.lbf:make",
    options="agonist.envs.lbf:Options",
    about="Level-Based Foraging: foragers of different strength collect food, some of it together. Any [Ks-]SxS-Pp-Ff[-coop].",
    source="Albrecht & Ramamoorthy 2013; Christianos et al. 2020",
    scenarios=(
        *("2s-8x8-2p-2f-coop", "8x8-2p-2f-coop", "2s-10x10-3p-3f", "10x10-3p-3f"),
        *("15x15-3p-5f", "15x15-4p-3f", "15x15-4p-5f"),
    ),
)

matrix = Family(
    make="agonist.envs.matrix:make",
    options="agonist.envs.matrix:Options",
    about="Repeated matrix games. Any penalty-K, and any payoff from a file: matrix:./payoff.json, .toml or .csv.",
    source="Claus & Boutilier 1998 (climbing, penalty); Papoudakis et al. 2021 (25 rounds)",
    scenarios=(
        *("rps", "climbing", "penalty-0", "penalty-100", "chicken", "prisoners-dilemma", "stag-hunt"),
        *("coordination", "matching-pennies"),
    ),
)

lighthouse = Family(
    make="agonist.envs.lighthouse:make",
    options="agonist.envs.lighthouse:Options",
    about="Two roles: a keeper sees which harbour is safe and shows a lamp, a ship sees the lamp and steers. Any HxD: harbours, distance.",
    source="Lewis 1969, Convention (signalling games)",
    scenarios=("2x2", "3x2", "4x3"),
)

gymnasium = Family(
    make="agonist.envs.adapters.gymnasium:make",
    options="agonist.envs.adapters.gymnasium:Options",
    about="Any environment that is registered with Gymnasium, one agent.",
    source="Towers et al. 2024, arXiv:2407.17032",
    scenarios=("CartPole-v1", "Acrobot-v1", "MountainCar-v0", "MountainCarContinuous-v0", "Pendulum-v1"),
    needs="gymnasium",
    install="pip install 'agonist[gymnasium]'",
)
