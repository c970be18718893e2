"""Networks as plain pairs of functions: `Net(init, apply)`; parameters are nested dicts of arrays."""

from agonist.nets.layers import Net as Net
from agonist.nets.own_torso import rows_first as rows_first
