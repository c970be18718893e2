"""An environment for Agonist: see `agonist_seesaw.seesaw`."""
