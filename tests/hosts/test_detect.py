"""Which of how many hosts this is: options before our own variables before the scheduler's."""

import pytest

from agonist.hosts.detect import Company, address, asked, detected, nodes

SLURM = {
    "SLURM_STEP_NUM_TASKS": "3",
    "SLURM_STEP_NODELIST": "gpu[07-08],big1",
    "SLURM_PROCID": "2",
    "SLURM_JOB_ID": "4711",
    "SLURM_STEP_ID": "0",
    "SLURM_JOB_NODELIST": "other[1-9]",
}
POD = {"AGONIST_COORDINATOR": "train-0.train:4567", "AGONIST_HOSTS": "4", "JOB_COMPLETION_INDEX": "3"}


def test_a_single_host_says_nothing():
    for environ in ({}, {"SLURM_NTASKS": "8", "SLURM_PROCID": "0", "SLURM_JOB_ID": "5"}, {"JOB_COMPLETION_INDEX": "0"}, SLURM):
        assert asked(None, None, None, environ) is None
    assert asked("a:1", "1", None, {}) is None
    assert asked(None, "auto", None, SLURM | {"SLURM_STEP_NUM_TASKS": "1", "SLURM_PROCID": "0"}) is None


def test_options_and_our_own_variables():
    assert asked("a:1", "2", 1, {}) == Company("a:1", 2, 1)
    assert asked("a:1", "2", 0, POD) == Company("a:1", 2, 0)
    assert asked(None, None, None, POD) == Company("train-0.train:4567", 4, 3)
    assert asked(None, None, None, POD | {"AGONIST_HOST": "1"}) == Company("train-0.train:4567", 4, 1)


def test_slurm_is_believed_when_asked():
    found = Company("gpu07:" + str(20_000 + 31 * 4711 % 12_000), 3, 2, "Slurm")
    assert asked(None, "auto", None, SLURM) == detected(SLURM) == found
    assert asked("login:9", "auto", None, SLURM) == found._replace(coordinator="login:9")
    assert asked(None, None, None, SLURM | {"AGONIST_HOSTS": "auto"}) == found
    other = detected(SLURM | {"SLURM_STEP_ID": "1"})
    assert other.coordinator != found.coordinator, "two steps of one job may share a node"
    without = {key: value for key, value in SLURM.items() if key != "SLURM_STEP_NODELIST"}
    assert detected(without).coordinator.startswith("other1:")


def test_kubernetes_is_detected():
    assert detected(POD) == Company("train-0.train:4567", 4, 3, "Kubernetes")


def test_what_is_not_whole_is_nothing():
    assert detected({}) is None
    for name in ("SLURM_PROCID", "SLURM_JOB_ID"):
        assert detected({key: value for key, value in SLURM.items() if key != name}) is None
    for name, value in (("SLURM_PROCID", "3"), ("SLURM_STEP_NUM_TASKS", "x"), ("SLURM_STEP_NODELIST", "gpu[a-b]")):
        assert detected(SLURM | {name: value}) is None
    assert detected({"JOB_COMPLETION_INDEX": "1", "AGONIST_COORDINATOR": "a:1"}) is None


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("a:1", None, None), "--coordinator is for several hosts: say how many with --hosts, as in --hosts 2"),
        ((None, None, 1), "--host is for several hosts"),
        ((None, "2", 0), "several hosts need --coordinator HOST:PORT (or AGONIST_COORDINATOR)"),
        (("a:1", "2", None), "which of the 2 hosts is this one? Say --host K (or AGONIST_HOST), from 0 to 1"),
        (("a:1", "2", 2), "--host needs a whole number from 0 to 1, got '2'"),
        (("a:1", "0", 0), "--hosts needs a whole number from 1 to 4096 or auto, got '0'"),
        (("a:1", "two", 0), "--hosts needs a whole number from 1 to 4096 or auto, got 'two'"),
        ((None, "auto", None), "--hosts auto finds no step of Slurm's here"),
    ],
)
def test_what_does_not_make_sense_is_said(options, sentence):
    with pytest.raises(ValueError, match=r".") as error:
        asked(*options, environ={})
    assert str(error.value).startswith(sentence)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("node1", ["node1"]),
        ("a,b,c", ["a", "b", "c"]),
        ("gpu[01-03,07],login1", ["gpu01", "gpu02", "gpu03", "gpu07", "login1"]),
        ("r[1-2]n[09-10]-ib", ["r1n09-ib", "r1n10-ib", "r2n09-ib", "r2n10-ib"]),
        ("host-a[5],host-b", ["host-a5", "host-b"]),
        ("n[098-101]", ["n098", "n099", "n100", "n101"]),
    ],
)
def test_slurms_lists_of_nodes(text, names):
    assert list(nodes(text)) == names


def test_addresses():
    assert address("node1:4567") == ("node1", 4567)
    assert address("[fe80::1]:80") == ("fe80::1", 80)


@pytest.mark.parametrize("text", ["node1", ":5", "node1:", "node1:0", "node1:65536", "node1:x", "", "node1:-5", "node1:٣"])
def test_what_is_no_address(text):
    with pytest.raises(ValueError, match="--coordinator is HOST:PORT, as in node1:4567, got"):
        address(text)
