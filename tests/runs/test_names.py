import random
import re
import time

from agonist.runs import names


def test_ids_sort_by_time_and_can_be_said():
    moments = [0.0, 1.0, 86_400.0, 1.7e9, 4e9]
    ids = [names.new_id(moment) for moment in moments]
    assert ids == sorted(ids)
    for run_id in ids:
        assert re.fullmatch(r"\d{8}-\d{6}-[a-z]+-[a-z]+", run_id)
    assert names.new_id(1_795_123_456.0).startswith("20261119-")
    assert names.words_of("20261119-211433-calm-heron") == "calm-heron"
    assert names.new_id()[:11] in {time.strftime("%Y%m%d-%H", time.gmtime(time.time() - lag)) for lag in (0, 5)}


def test_words_are_many_short_and_single():
    for words in (names.ADJECTIVES.split(), names.ANIMALS.split()):
        assert len(words) == len(set(words)) >= 128
        assert all(re.fullmatch("[a-z]{2,10}", word) for word in words)


def test_a_seeded_program_draws_no_differently():
    random.seed(5)
    expected = random.random()
    random.seed(5)
    drawn = {names.new_id() for _ in range(20)}
    assert random.random() == expected
    assert len(drawn) > 15
