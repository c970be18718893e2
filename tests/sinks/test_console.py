"""Plain lines on stderr."""


def test_a_line_an_evaluation(told, capsys):
    told("console", last=1, label="lr=0.1")
    out, err = capsys.readouterr()
    assert out == ""
    who = "20261119-211433-calm-heron lr=0.1  "
    assert err.splitlines() == [
        who + "step 0  return 1  length 6",
        who + "step 128  return 2  length 6  loss/policy 1  perf/env_steps_per_second 1000",
        who + "step 128  absolute (20 episodes)  return 6  length 6",
        who + "finished",
    ]
