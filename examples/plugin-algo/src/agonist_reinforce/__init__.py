"""An algorithm for Agonist: see `agonist_reinforce.reinforce`."""
