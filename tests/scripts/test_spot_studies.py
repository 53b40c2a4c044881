"""The studies of unreliable machines, as short as can be."""

from studies import expert_online, spot_traces


def test_ours_is_never_dearer_than_on_demand_alone_and_in_time_on_drawn_traces():
    for trace in spot_traces.drawn(1):
        base, _, _, ours = spot_traces.one((trace, 600.0))
        assert ours.cost <= base.cost
        assert ours.seconds <= spot_traces.SLACK * base.seconds


def test_who_falls_back_pays_no_less_than_who_waits_and_is_sooner_done():
    trace = spot_traces.drawn(1)[1]
    _, naive, fallback, _ = spot_traces.one((trace, 600.0))
    assert naive.cost <= fallback.cost
    assert fallback.seconds <= naive.seconds


def test_the_places_of_a_trace_are_as_many_as_were_to_be_had():
    trace = spot_traces.Trace("t", 10.0, ((2, 3), (0, 1), (1, 2)))
    assert trace.places() == [[(0.0, 30.0), (40.0, 60.0)], [(0.0, 30.0)]]
    assert trace.availability == (2 * 3 + 1 * 2) / 6 / 2


def test_what_is_told_at_t_tail_is_told_of_the_tail_that_comes():
    off = expert_online.one((expert_online.SETTINGS[2], 1))
    assert off.known_seconds < 2 * off.seconds
    assert off.told_cost < 2 * off.cost
