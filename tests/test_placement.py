"""Where shards lie: on how many devices of which hosts, and what is refused."""

from types import SimpleNamespace

import jax
import numpy as np
import pytest

from agonist import devices, placement
from agonist.placement import layout


def machine(hosts, each):
    """Devices as jax tells of them, those of a host not always beside one another."""
    return tuple(SimpleNamespace(process_index=host, n=n) for n in range(each) for host in range(hosts))


def test_shards_lie_on_as_many_devices_as_divide_them():
    devices = ("a", "b", "c")
    wanted = {1: (1, 1), 2: (2, 1), 3: (3, 1), 4: (2, 2), 5: (1, 5), 6: (3, 2), 7: (1, 7)}
    for shards, (used, local) in wanted.items():
        lay = layout(shards, devices)
        assert (len(lay.devices), lay.local) == (used, local)
        assert lay.axes == ("devices",) * (used > 1) + ("shards",) * (local > 1)


def test_each_host_has_as_many():
    """Two hosts of three devices: the shards are shared out evenly, host after host."""
    for shards, each, local in ((2, 1, 1), (4, 2, 1), (6, 3, 1), (8, 2, 2), (10, 1, 5), (12, 3, 2)):
        lay = layout(shards, machine(2, 3))
        assert [device.process_index for device in lay.devices] == [0] * each + [1] * each
        assert lay.local == local
    uneven = (*machine(2, 2), SimpleNamespace(process_index=1, n=2))
    assert len(layout(6, uneven).devices) == 2  # what one of them lacks, none uses


def test_as_many_as_are_asked_for(monkeypatch):
    assert [len(layout(4, machine(1, 4), wanted).devices) for wanted in (1, 2, 4)] == [1, 2, 4]
    assert len(layout(8, machine(2, 4), 2).devices) == 4
    monkeypatch.setattr(devices, "_wanted", 2)
    assert len(layout(4, machine(1, 4)).devices) == 2


@pytest.mark.parametrize(
    ("shards", "hosts", "each", "wanted", "sentence"),
    [
        (4, 1, 4, 8, "--devices 8 asks for more than there are, which is 4: ask for 1 or 2 or 4"),
        (4, 1, 4, 3, "--devices 3 does not divide shards=4: ask for 1 or 2 or 4, or set shards to a multiple of 3 (a key: "),
        (4, 2, 2, 3, "--devices 3 asks for more than there are, which is 2 on a host: ask for 1 or 2"),
        (6, 2, 4, 2, "2 hosts x 2 devices do not divide shards=6: ask for 1 or 3, or set shards to a multiple of 4 (a key: "),
        (3, 2, 4, None, "shards=3 cannot lie on 2 hosts: set shards to a multiple of 2 (it is a key: results depend on it)"),
    ],
)
def test_what_does_not_divide_is_said_with_what_does(shards, hosts, each, wanted, sentence):
    with pytest.raises(ValueError, match=r"shards|devices") as error:
        layout(shards, machine(hosts, each), wanted)
    assert str(error.value).startswith(sentence)


def test_on_one_host_things_are_put_where_they_belong():
    lay = layout(2, tuple(jax.devices()[:2]))
    split, whole = (placement.put(np.arange(4.0), lay.mesh, spec) for spec in (placement.SPLIT, placement.WHOLE))
    assert [shard.data.tolist() for shard in split.addressable_shards] == [[0, 1], [2, 3]]
    assert [shard.data.tolist() for shard in whole.addressable_shards] == [[0, 1, 2, 3]] * 2
    call, follow = placement.shared(lambda state, add: (state + add, {}, ()), None, None, lay.mesh)
    assert follow is None
    assert call(0, 1, 2) == (3, {}, (), 3)


def test_parts_of_what_all_hosts_know():
    """As on several hosts: each device is given its part, random keys too, and what lies right stays."""
    sharding = jax.sharding.NamedSharding(layout(2, tuple(jax.devices()[:2])).mesh, placement.SPLIT)
    for value in (np.arange(6).reshape(2, 3), jax.random.split(jax.random.key(1), 4)):
        spread = placement._spread(value, sharding)
        assert spread.sharding == sharding
        assert spread.addressable_shards[1].data.shape == (spread.shape[0] // 2, *spread.shape[1:])
        assert bool((spread == value).all())
        assert placement._spread(spread, sharding) is spread


def test_a_slot_is_free_again_when_its_run_is_done():
    with placement.slot() as a, placement.slot() as b:
        assert (a, b) == (0, 1)
    with placement.slot() as again:
        assert again == 0


def test_what_is_shared_arrives_as_it_was():
    tree = {"a": np.float32([-0.0, np.nan, 3]), "key": jax.random.key(7), "b": (np.int32(5), np.bool_(True))}
    back = placement._unpacked(placement._packed(tree), tree)
    assert np.signbit(back["a"][0])
    assert np.isnan(back["a"][1])
    assert back["b"] == (5, True)
    assert bool(back["key"] == tree["key"])
