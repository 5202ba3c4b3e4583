"""The hub's own share of a recall is what the endpoint's time leaves of the whole."""

from tools.bench.services import Recalls


def test_the_own_share_is_the_whole_without_the_endpoint() -> None:
    recalls = Recalls(whole=[0.030, 0.040, 0.050], endpoint=[0.020, 0.010, 0.020])
    [goal] = recalls.goals()
    assert round(goal.measured, 6) == 30.0 and not goal.is_met
    assert "| 40.0 |" in recalls.table() and "| 30.0 |" in recalls.table()


def test_a_small_share_meets_the_goal() -> None:
    [goal] = Recalls(whole=[0.045, 0.045], endpoint=[0.020, 0.020]).goals()
    assert goal.is_met
