"""Small networks on inputs unlike their samples, as in `make off-samples`."""

from collections import Counter

import off_samples


def test_inputs_unlike_the_samples_are_right_or_warned_of():
    seen = [*off_samples.runs(off_samples.NETWORKS, off_samples.SETTINGS, seed=0)]
    counts = Counter(verdict for *_, verdict, _ in seen)
    silent = [run for run in seen if run[3] == "silently wrong"]
    assert sum(counts.values()) == 98
    assert not silent
    assert counts["refused"] <= 8, counts
    assert counts["warned"] <= 8, counts
    assert counts["wrong, warned"] <= 2, counts
