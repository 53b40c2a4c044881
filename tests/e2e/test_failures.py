"""Why tasks failed is said wherever one looks."""

from helpers.user import User

ALIKE = """
command = 'if test {n} -gt 2; then echo "No such file: mising.py" >&2; exit 2; fi; true'
retries = 0
[grid]
n = "1:9"
"""
REASON = "7: exit code 2, 'No such file: mising.py' (all alike); bats logs 1 2"


def test_the_reason_stands_on_the_last_screen_in_status_explain_and_watch(user: User) -> None:
    said = user.bats("run", user.write("s.toml", ALIKE), exit_code=1).stdout
    assert f"failed    {REASON}\n" in said
    assert f"failed    {REASON}\n" in user.bats("status", "1").stdout
    assert f"failed    {REASON}\n" in user.bats("explain").stdout
    assert user.facts("status", "1")["failures"] == [
        {"why": "exit code 2, 'No such file: mising.py'", "tasks": 7, "first": 2}
    ]
    with user.master():
        assert f"failed    {REASON}\n" in user.bats("watch", exit_code=1).stdout


def test_failures_of_several_kinds_are_told_apart(user: User) -> None:
    sweep = "command = 'echo out of luck {n}; exit {n}'\nretries = 0\n[grid]\nn = '1:5'\n"
    said = user.bats("run", user.write("s.toml", sweep), exit_code=1).stdout
    assert "failed    1: exit code 1, 'out of luck 1'; bats logs 1 0\n" in said
    assert "          2 in other ways; bats results 1 --failed\n" in said


def test_who_looks_at_empty_output_is_told_of_the_errors(user: User) -> None:
    user.bats("run", user.write("s.toml", ALIKE), exit_code=1)
    done = user.bats("logs", "1", "2")
    assert done.stdout == ""
    assert done.stderr == (
        "bats: nothing on standard output, 24 bytes on standard error: bats logs 1 2 --err\n"
    )
    assert user.bats("logs", "1", "0").stderr == ""
