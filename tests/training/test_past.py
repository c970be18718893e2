"""What a run has measured so far, read back for sinks."""

from agonist.runs import create, open_for_resume, open_store
from agonist.sinks import Evaluation, Past, Point
from agonist.training.past import past


def test_points_and_evaluations_up_to_the_checkpoint(tmp_path):
    store = open_store(tmp_path)
    out = create(store, "train", {"algo": "ppo"}, argv=[])
    for k in range(4):
        out.metrics(64 * k, {"loss/a": k, "loss/b": -k}, 100.0 + k)
        out.metrics(64 * k, {"eval/return": 10.0 * k}, 100.5 + k)
        out.evaluation(64 * k, {"returns": {"agents": [k, k + 1.0]}, "length": [5.0, 6.0]})
        if k < 3:
            out.checkpoint(64 * k, k, {}, {}, {})
    out.finish("interrupted")
    assert past(store, out.id, -1) == Past([], [])
    out, content = open_for_resume(store, out.id)
    both = [(Point(64 * k, 100.0 + k, {"loss/a": k, "loss/b": -k}), Point(64 * k, 100.5 + k, {"eval/return": 10.0 * k})) for k in range(3)]
    found = past(store, out.id, content.info.step)
    assert found.points == [point for two in both for point in two]
    assert found.evaluations == [Evaluation(64 * k, 100.5 + k, {"agents": [k, k + 1.0]}, [5.0, 6.0], False) for k in range(3)]
    out.metrics(192, {"loss/a": 9.0}, 200.0)  # what is measured meanwhile is told by training
    out.heartbeat(192)
    assert past(store, out.id, content.info.step) == found
