"""Which sinks the keys ask for."""

import pytest

from agonist.options import fill
from agonist.plugins import offers
from agonist.sinks import GROUP, LogConfig, card, chosen
from agonist.sinks.config import key_of


def test_none_by_default():
    assert chosen(LogConfig()) == ()


def test_keys_and_names_meet():
    given = {"use_json": "true", "use_tb": "yes", "save_model": "true", "sinks": "[mine,json]", "base_exp_path": "here"}
    config = fill(LogConfig, given, "logging")
    assert config.base_exp_path == "here"
    assert chosen(config) == ("json", "tb", "model", "mine")


def test_every_key_has_its_sink_and_every_sink_of_ours_its_key():
    every = LogConfig(**{key: True for key in LogConfig.__dataclass_fields__ if key.startswith("use_")}, save_model=True)
    assert set(chosen(every)) == set(offers(GROUP))
    for name in chosen(every):
        assert card(name).about
        assert "sinks=" not in key_of(name)


@pytest.mark.parametrize(("name", "key"), [("tb", "use_tb=true"), ("model", "save_model=true"), ("mine", "sinks=[mine]")])
def test_how_a_sink_is_asked_for(name, key):
    assert key_of(name) == key
