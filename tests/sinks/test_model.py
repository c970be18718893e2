"""The policies that a run ends with, copied out."""

import numpy as np

from agonist.checkpoints import PolicyContent, read_policy
from agonist.sinks import Beginning, Ending, LogConfig
from agonist.sinks.model import open_model


def test_policies_become_folders_that_play_elsewhere(tmp_path):
    content = PolicyContent({"algo": "ppo"}, {"w": np.arange(3.0)})
    sink = open_model(Beginning("a-run", {}), LogConfig(base_exp_path=str(tmp_path)))
    for _ in range(2):  # a run that goes on ends twice
        sink.close(Ending("finished", {}, {"prey": content, "../x": content}))
    assert read_policy(tmp_path / "policies" / "a-run" / "prey" / content.name).name == content.name
    homes = sorted(path.name for path in (tmp_path / "policies" / "a-run").iterdir())
    assert len(homes) == 2
    assert [path.name for path in tmp_path.iterdir()] == ["policies"]
