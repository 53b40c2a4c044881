"""`scripts/reproduce.py` prints figures and bars as other programs expect them."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from studies import parameters

SCRIPT = Path(__file__).parents[2] / "scripts" / "reproduce.py"


def reproduce(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPT), *arguments], capture_output=True, text=True, check=False
    )


def test_a_study_prints_one_object_last_and_writes_its_plot(tmp_path: Path):
    ended = reproduce("table4.2", "--quick", "--json", "--workers", "1", "--out", str(tmp_path))
    assert ended.returncode == 0, ended.stderr
    printed = json.loads(ended.stdout.splitlines()[-1])
    assert printed["name"] == "table4.2"
    assert {"what", "published", "ours", "unit"} == set(printed["figures"][0])
    assert {"bar", "limit", "value", "ok"} == set(printed["bars"][0])
    assert all(bar["ok"] for bar in printed["bars"])
    assert json.loads((tmp_path / "table4.2.json").read_text()) == printed
    assert (tmp_path / "table4.2.svg").read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("study", "plot"),
    [
        ("table4.4", "table4.4.svg"),
        ("chapter4", "chapter4-budget.svg"),
        ("table5", "table5.svg"),
        ("expert", "expert-9b.svg"),
    ],
)
def test_the_quick_form_shows_published_figures_beside_ours(tmp_path: Path, study: str, plot: str):
    ended = reproduce(study, "--quick", "--workers", "1", "--out", str(tmp_path))
    assert ended.returncode in {0, 1}, ended.stderr  # so few repetitions may miss a bar
    assert "published" in ended.stdout
    told = json.loads((tmp_path / f"{study}.json").read_text())
    both = [f for f in told["figures"] if f["published"] is not None and f["ours"] is not None]
    assert len(both) >= 6
    assert told["bars"]
    assert (tmp_path / plot).read_text().startswith("<svg")


def test_what_is_told_of_schedules_is_held_against_what_came_of_them(tmp_path: Path):
    ended = reproduce("chances", "--quick", "--json", "--workers", "2", "--out", str(tmp_path))
    # Twelve runs of a kind are too few for its bar: what is told may be off by a tenth by chance.
    assert ended.returncode in (0, 1), ended.stderr
    told = json.loads(ended.stdout.splitlines()[-1])
    normal = next(f for f in told["figures"] if f["what"].startswith("normal fastest: told 100%"))
    assert normal["ours"] == 1
    assert all(0 <= figure["ours"] <= 1 for figure in told["figures"])


def test_the_same_seed_gives_the_same_figures_with_any_number_of_workers(tmp_path: Path):
    one, two = (
        reproduce("table4.3", "--quick", "--json", "--workers", n, "--out", str(tmp_path))
        for n in ("1", "2")
    )
    assert one.stdout == two.stdout


def test_widths_and_generations_of_workflows_are_what_they_are_said_to_be(tmp_path: Path):
    ended = reproduce("wf-lop", "--quick", "--json", "--workers", "1", "--out", str(tmp_path))
    told = json.loads(ended.stdout.splitlines()[-1])
    identities = [bar for bar in told["bars"] if bar["limit"] == "all"]
    assert len(identities) == 4
    assert all(bar["ok"] for bar in identities)


def test_bags_whose_runtimes_follow_from_parameters_end_sooner_and_others_no_later():
    for law in parameters.LAWS:
        pair = parameters.one((law, 16, 12, 0.0, 1001))
        assert pair.law
        assert pair.with_them is not None
        assert pair.without is not None
        assert pair.with_them < pair.without
    pair = parameters.one((parameters.NOTHING_SAID, 4, 12, 0.0, 1001))
    assert pair.with_them == pair.without


def test_an_unknown_study_is_refused_with_those_there_are():
    ended = reproduce("table9")
    assert ended.returncode == 2
    assert "chapter4" in ended.stderr


def test_what_lending_could_save_at_most_is_a_share_of_the_money(tmp_path: Path):
    ended = reproduce(
        "unused-time", "--quick", "--json", "--workers", "1", "--out", str(tmp_path), "--bags", "1"
    )
    assert ended.returncode == 0, ended.stderr
    told = json.loads((tmp_path / "unused-time.json").read_text())
    shares = [figure["ours"] for figure in told["figures"]]
    assert len(shares) == 16
    assert all(0 <= share <= 1 for share in shares)
    assert shares[0] < shares[-4], "by the second less is left over than by the hour"
