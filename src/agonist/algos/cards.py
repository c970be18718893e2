"""The algorithms that come with Agonist, as cards that are cheap to import."""

from agonist.algos import Card

PPO = "Schulman et al. 2017, arXiv:1707.06347; Yu et al. 2022, arXiv:2103.01955"

ppo = Card("agonist.algos.ppo:make_ppo", "agonist.algos.ppo:PPOConfig", "proximal policy optimisation, a critic of choice", PPO)
ippo = Card(ppo.make, ppo.config, "independent PPO: each critic sees what its agent sees", PPO, {"critic": "observation"})
mappo = Card(ppo.make, ppo.config, "multi-agent PPO: the critic sees the whole state", PPO, {"critic": "state"})
