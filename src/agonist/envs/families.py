"""The families of environments that come with Agonist, as cards: what is listed without importing what it lists.

An entry point of the group `agonist.envs` names a `Family`, in a module that is cheap to import; `make` names the function
`(scenario, options) -> Env | HostEnv` as "module:function", imported when an environment of the family is asked for. The
annotation of its `options` is a frozen dataclass of `agonist.types.option` fields.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Family:
    """A card: who they are and where they are made."""

    make: str  # "module:function"
    about: str
    source: str
    scenarios: tuple[str, ...] = ()  # some of them, or all where there are few; empty: the family is one environment
    needs: str = ""  # the module that must be importable
    install: str = ""  # what to type where it is not


lbf = Family(
    make="agonist.envs.lbf:make",
    about="Level-Based Foraging: foragers of different strength collect food, some of it together. Any [Ks-]SxS-Pp-Ff[-coop].",
    source="Albrecht & Ramamoorthy 2013; Christianos et al. 2020",
    scenarios=("2s-8x8-2p-2f-coop", "8x8-2p-2f-coop", "2s-10x10-3p-3f", "10x10-3p-3f", "15x15-3p-5f", "15x15-4p-3f", "15x15-4p-5f"),
)
