"""Pure maths on arrays: returns, distributions, running statistics, shards, the optimiser. No module knows of agents or environments."""
