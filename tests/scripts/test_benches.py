"""What benches reach for is still there: a bench that breaks is found before it is needed."""

from benches import spawn, world


def test_the_time_of_last_lines_and_values_is_measured() -> None:
    assert 0 < spawn.value_seconds() < 0.01


def test_numbered_tasks_are_told_apart_by_a_variable() -> None:
    work = world.numbered("true", 3)
    assert work.count == 3
