"""What is asked of a master by mistake is answered with the way out."""

from helpers.user import User

SWEEP = 'command = "echo {n}"\n[grid]\nn = "1:3"\n'


def test_a_task_that_does_not_exist_is_not_said_to_end_yet(user: User) -> None:
    user.bats("run", user.write("s.toml", SWEEP))
    for words in (("logs", "1", "999"), ("explain", "1", "999")):
        said = user.bats(*words, exit_code=2).stderr
        assert said == "bats: Bag 1 has tasks 0 to 2, no 999.\n"


def test_schedules_are_named_in_any_case_and_listed(user: User) -> None:
    user.write("c.toml", '[[offering]]\nname = "a"\nbackend = "local"\nprice = 1\nmax = 1\n')
    user.write("nap.toml", 'command = "sleep 60"\nbudget = 5\n[grid]\nn = "1:3"\n')
    with user.master("--clouds", "c.toml"):
        user.bats("submit", "nap.toml", "--pick", "FASTEST")
        said = user.bats("choose", "quickest", exit_code=2).stderr
        assert "cheapest, cheapest+10%, cheapest+20%, balanced, fastest-20%" in said
        assert "still sampling" in user.bats("choose", "FASTEST", exit_code=2).stderr


def test_the_second_of_two_runs_says_how_to_join_the_first(user: User) -> None:
    sweep = user.write("s.toml", SWEEP)
    with user.started("run", "--", "sleep", "60") as first:
        user.begun(first)
        said = user.bats("run", sweep, exit_code=2).stderr
        assert said.startswith(f"bats: Another `bats run` or `bats master` (pid {first.pid} on ")
        assert "`bats submit s.toml` gives it this sweep too" in said
        assert user.bats("submit", sweep).returncode == 0


def test_a_simulated_second_is_told_in_seconds(user: User) -> None:
    said = user.bats("simulate", user.write("s.toml", SWEEP), "--runtimes", "2s").stdout
    assert said.startswith("3 tasks (every task 2 s) on ")
