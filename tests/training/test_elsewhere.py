"""What a run that goes on writes elsewhere: what was typed here, and nothing that a stranger's run asks for."""

import pytest

from agonist.runs import create, open_for_resume, open_store
from agonist.sinks import LogConfig
from agonist.training.elsewhere import elsewhere


@pytest.fixture
def store(tmp_path):
    return open_store(tmp_path / "store")


@pytest.fixture
def log(tmp_path):
    return LogConfig(base_exp_path=str(tmp_path / "out"), use_csv=True)


def test_a_new_run_writes_what_was_typed(store, log, capsys):
    assert elsewhere(create(store, "train", {}, argv=[]), log) == log
    assert capsys.readouterr() == ("", "")


def test_a_run_that_goes_on_says_where_it_writes(store, log, tmp_path, capsys):
    created = create(store, "train", {}, argv=[])
    created.finish("interrupted")
    out, _ = open_for_resume(store, created.id)
    assert elsewhere(out, log) == log
    assert capsys.readouterr().err == f"agonist: run {out.id} goes on, and so do its sinks: csv under {tmp_path / 'out'}\n"
    assert elsewhere(out, LogConfig()) == LogConfig()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize("whose", ["its own", "its sweep's"])
def test_what_came_from_elsewhere_writes_in_the_store_alone(whose, store, log, capsys):
    """Also a new run of a sweep that an archive brought: its keys are the archive's."""
    sweep = create(store, "sweep", {}, argv=[])
    out = create(store, "train", {}, argv=[], parents=[sweep.id])
    store.replace(f"runs/{out.id if whose == 'its own' else sweep.id}/imported.json", b"{}")
    assert elsewhere(out, log) == LogConfig()
    assert capsys.readouterr().err == (
        f"agonist: run {out.id} was brought here from elsewhere: the sinks it asks for (csv) are left out; it goes on in the store alone\n"
    )
