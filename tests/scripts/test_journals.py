"""Journals of simulated runs: the cases go through everything, and a run is told by its digest."""

import journals
import pytest
from studies.two_clusters import SCENARIOS

from bats.master.brain.planning.planners import PLANNERS
from bats.master.brain.policies.by_name import PROVISIONERS, REPLICATORS, SAMPLERS
from bats.master.simulate.workloads import WORKLOADS


def test_the_cases_go_through_all_scenarios_bag_kinds_and_policies():
    cases = list(journals.cases())
    of_bags = [name for name, planner in PLANNERS.items() if not planner.workflows]
    assert len(cases) == journals.RUNS
    for part, all_of_them in (
        ("scenario", SCENARIOS),
        ("workload", WORKLOADS),
        ("provisioner", PROVISIONERS),
        ("sampling", SAMPLERS),
        ("tail", REPLICATORS),
        ("planner", of_bags),
    ):
        assert {getattr(case, part) for case in cases} >= set(all_of_them)


def test_the_same_run_has_the_same_digest_and_another_seed_another():
    case, other = (case for case in journals.cases() if case.seed in (41, 42))
    assert journals.journal(case) == journals.journal(case) != journals.journal(other)


def test_a_decision_that_changes_is_seen(monkeypatch: pytest.MonkeyPatch):
    some = [case for case in journals.cases() if case.tail == "perfect" and case.tasks == 40]
    before = [journals.journal(case) for case in some]
    monkeypatch.setitem(REPLICATORS, "perfect", REPLICATORS["none"])
    assert [journals.journal(case) for case in some] != before


def test_a_policy_that_is_new_changes_only_the_runs_that_it_is_drawn_in():
    names = ["a", "b", "c"]
    before = [journals.drawn(seed, 0, names) for seed in range(100)]
    after = [journals.drawn(seed, 0, [*names, "new"]) for seed in range(100)]
    assert set(before) == set(names)
    changed = [new for old, new in zip(before, after, strict=True) if old != new]
    assert 10 < len(changed) < 45
    assert set(changed) == {"new"}
