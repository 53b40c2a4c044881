"""`bats elasticity`: a bag that has ended, judged by the measures of autoscalers."""

import pytest

from bats.common.errors import UsageError
from bats.common.messages import BagId, MachineId
from bats.common.money import money
from bats.common.offering import ClusterName, Offering
from bats.master.api.requests import GetElasticity
from bats.master.cli.display.tables.elasticity_table import measures
from bats.master.queries.supply_and_demand import Changes, Course, measured
from bats.master.store.rows import MachineRow

ATU = 60.0


def curve(*points: tuple[float, float]) -> Changes:
    made = Changes()
    for at, value in points:
        made.put(at, value)
    return made


def row(number: int, since: float, gone: float | None) -> MachineRow:
    return MachineRow(MachineId(number), BagId(3), "here", "local", charged_since=since, gone=gone)


def course(*machines: MachineRow) -> Course:
    """100 seconds: a place short for 20 of them, one too many for 40."""
    offerings = (Offering(ClusterName("here"), money(1), ATU, max_machines=2, slots=2),)
    return Course(
        offerings,
        list(machines),
        demand=curve((1000, 3), (1020, 2), (1060, 1)),
        supply=curve((1000, 2)),
        busy=curve((1000, 2), (1060, 1)),
        began=1000.0,
        last=1100.0,
    )


def test_a_bag_is_measured_from_its_beginning_to_its_last_event():
    told = measured(course(row(1, 1000, 1100)), BagId(3), GetElasticity(3))
    assert (told["most"], told["since_seconds"], told["until_seconds"]) == (4, 0, 100)
    assert told["a_u"] == pytest.approx(20 / 100 / 4)
    assert told["a_o"] == told["m_u"] == pytest.approx(40 / 100 / 4)
    assert (told["t_u"], told["t_o"]) == (pytest.approx(0.2), pytest.approx(0.4))
    assert told["mean_supply"] == pytest.approx(2)
    assert told["hours_on"] == pytest.approx(100 / 3600)
    assert told["hours_charged"] == pytest.approx(2 * ATU / 3600)
    assert told["hours_always_on"] == pytest.approx(2 * 100 / 3600)
    assert told["score"] is not None
    assert told["score"] > 1


def test_a_span_of_it_counts_what_is_charged_within():
    want = GetElasticity(3, since_seconds=50.0, until_seconds=90.0)
    told = measured(course(row(1, 1000, 1100), row(2, 900, 1010)), BagId(3), want)
    assert told["t_u"] == 0
    assert told["t_o"] == pytest.approx(30 / 40)
    assert told["hours_on"] == pytest.approx(40 / 3600)
    assert told["hours_charged"] == pytest.approx(ATU / 3600)  # it is entered at 1060


def test_what_no_machine_could_meet_is_left_out_and_told():
    told = measured(course(row(1, 1000, None)), BagId(3), GetElasticity(3, most=2))
    assert told["left_out"] == pytest.approx(0.2)
    assert told["t_u"] == 0
    assert "20% of the time is left out" in measures(told)
    assert "a_O" in measures(told)


def test_where_there_is_nothing_to_measure_it_says_so():
    with pytest.raises(UsageError, match="Bag 3 has had no machine yet"):
        measured(course(), BagId(3), GetElasticity(3))
    late = GetElasticity(3, since_seconds=200.0)
    with pytest.raises(UsageError, match="there is nothing to measure: bag 3 has gone on for"):
        measured(course(row(1, 1000, None)), BagId(3), late)
