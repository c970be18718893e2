"""A run's event files as TensorBoard shows them, also after it was taken up again."""

from agonist.sinks import Point
from agonist.sinks.events import head, scalars


def shown(folder):
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    found = EventAccumulator(str(folder), size_guidance={"tensors": 0, "scalars": 0}).Reload()
    return {tag: [(event.step, event.value) for event in found.Scalars(tag)] for tag in found.Tags()["scalars"]}


def test_tensorboard_shows_every_point(told):
    told("tb")
    [run] = (told.base / "tensorboard").iterdir()
    assert run.name == "20261119-211433-calm-heron"
    points = shown(run)
    assert points["eval/return"] == [(0, 1), (128, 2), (256, 3), (384, 4)]
    assert points["loss/policy"] == [(64, 0.5), (128, 1), (192, 1.5), (256, 2), (320, 2.5), (384, 3)]
    assert points["absolute/return"] == [(384, 6)]
    assert set(points) == {"eval/return", "loss/policy", "absolute/return", "perf/env_steps_per_second"}


def test_a_run_taken_up_again_has_no_point_twice(told):
    told("tb", last=2)
    told("tb", behind=2, last=4)
    points = shown(told.base / "tensorboard" / "20261119-211433-calm-heron")
    assert [step for step, _ in points["loss/policy"]] == [64, 128, 192, 256, 320, 384, 448, 512]
    assert points["absolute/return"] == [(512, 6)]  # the earlier end is none any more


def test_what_a_killed_writer_never_wrote_is_there_too(told):
    folder = told.base / "tensorboard" / "20261119-211433-calm-heron"
    folder.mkdir(parents=True)
    (folder / "events.out.tfevents.1").write_bytes(head(1.0) + scalars(Point(999, 1.0, {"x": 2.0}))[:-5])
    told("tb", behind=2, last=2, absolute=False)
    points = shown(folder)
    assert points["eval/return"] == [(0, 1), (128, 2), (256, 3)]
    assert "x" not in points
    assert len(list(folder.iterdir())) == 1
