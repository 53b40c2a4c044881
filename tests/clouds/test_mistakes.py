"""Every mistake in a clouds file is told in one sentence; whatever stands in it, no traceback."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bats.common.errors import UsageError
from bats.master.clouds.clouds_file import load
from bats.master.clouds.clouds_model import CloudsFile, OfferingTable
from bats.master.model_checks import check
from bats.master.userfile import Document

FREE = '[[offering]]\nname = "a"\nbackend = "local"\nprice = 0\n'
SLURM = '[[offering]]\nname = "a"\nprice = 0\nmax = 3\n'
PAID = FREE.replace("price = 0", 'price = "0.10"\nmax = 8') + "\n"
MISTAKES = [
    ("", "clouds.toml: there is no offering; write [[offering]]"),
    ('[offering]\nname = "a"', "write [[offering]], with two brackets."),
    ('[[offering]]\nnam = "a"\nbackend = "local"', "did you mean `name`?"),
    ('[[offering]]\nbackend = "local"\nprice = 0', "line 1: `offering[1]`: `name` is missing."),
    ('[[offering]]\nname = "a"\nprice = 1', "`backend` is missing; give one of local, ssh, slurm"),
    (FREE.replace('"local"', '"locl"'), "line 3: `offering[1].backend`: there is no back end"),
    (FREE.replace('"local"', '"locl"'), "did you mean `local`?"),
    (FREE.replace('"local"', "5"), "there is no back end 5; allowed are local"),
    (FREE.replace("price = 0", ""), "`price` is missing; write 0 if a machine costs nothing."),
    (FREE.replace("price = 0", "price = -1"), "line 4: `offering[1].price`: -1 is negative"),
    (FREE.replace("0", '"1 dollar"'), "'1 dollar' is not an amount of money; write for example"),
    (FREE.replace("0", "1e-12"), "finer than a billionth"),
    (FREE.replace('"a"', '"a/b"'), "'a/b' cannot be an offering's name; use up to 40 letters"),
    (FREE.replace('"a"', "7"), "7 cannot be an offering's name"),
    (FREE + FREE, "line 6: `offering[2].name`: another offering is called a too"),
    (FREE + 'atu = "fortnight"', "is not a duration; write for example 90s"),
    (FREE + "atu = 0", "line 5: `offering[1].atu`: should be longer than 0."),
    (FREE + 'per = ""', "'' is not a duration"),
    (FREE + 'boundary = "2h"', "should be less than the ATU, which lasts 3600 s."),
    (FREE + "max = 0", "should be 1 or more, not 0."),
    (FREE + 'max = "many"', "should be a whole number, not 'many'."),
    (FREE + "slots = true", "should be a whole number, not true."),
    (FREE + "slots = 2\ncpus = 2", "line 5: `offering[1].slots`: says the same as `cpus`"),
    (FREE + 'memory = "much"', "'much' is not a size"),
    (FREE + "max = 2\ngpus = 1", "the GPUs of this computer are those of one machine"),
    (FREE + "setings = {}", "unknown key; allowed are name, backend, price, per, atu"),
    (FREE + "settings = {}", "line 5: `offering[1].settings`: unknown key"),
    (FREE + "local = 5", "should be a table of keys and values, not 5."),
    (FREE + "[offering.local]\nsped = 1", "there is no setting `sped`; did you mean `speed`?"),
    (FREE + '[offering.local]\nspeed = "x"', "`speed = 'x'` should be a number."),
    (FREE + "[offering.local]\nspeed = -1.5", "line 5: `offering[1].local`: `speed = -1.5` should"),
    (FREE + '[offering.slurm]\npartition = "x"', "not for the offering's back end, local."),
    (SLURM.replace("max = 3", "") + '[offering.ssh]\nhosts = "n1"', "`max` is missing; say how"),
    (SLURM + "[offering.ssh]", "no host is named; give `hosts` or `hosts_file`."),
    (SLURM + '[offering.ssh]\nhosts_file = "no"', "No such file or directory"),
    ("currency = 5\n" + FREE, "line 1: `currency`: should be a text, not 5."),
    ('curency = "x"\n' + FREE, "line 1: `curency`: unknown key; did you mean `currency`?"),
    ("offering = [5]", "`offering[1]`: should be a table of keys and values, not 5."),
    (PAID + "[[pool]]\nmax = 9", "line 8: `pool[1].max`: 9 machines, of 8 that a may have; raise"),
    (PAID + "[[pool]]\nmin = 9", "`pool[1].min`: 9 machines are more than 8, the most that a may"),
    (PAID + '[[pool]]\nscaler = "reakt"', "there is no 'reakt'; did you mean `react`?"),
    (PAID + '[[pool]]\nscaler = "plf"', "plf says which task runs where, too, which is for `bats"),
    (PAID + '[[pool]]\nscaler = "pfa"', "pfa spends money for an interval; give `per_interval`."),
    (PAID + '[[pool]]\nrelease = "soon"', "should be one of paid, idle, not 'soon'."),
    (PAID + '[[pool]]\nofferings = ["b"]', "there is no offering 'b'; allowed are a."),
    (PAID + '[[pool]]\nofferings = ["a", "a"]', "`pool[1].offerings`: a is named twice."),
    (PAID + "[pool]\n[[pool]]", "this is not TOML"),
    (PAID + "[[pool]]\n[[pool]]", "`pool[2].name`: another pool is called pool; give each"),
    (PAID + '[[pool]]\n[[pool]]\nname = "b"', "`pool[2].offerings`: a is of the pool pool; an"),
    (PAID + '[[pool]]\nper_day = "0.05"', "$0.05 pay for no machine: the cheapest costs $0.10 at"),
    (PAID + '[[pool]]\nper_interval = "1e-9"', "pay for no machine of a for an interval of 30 s."),
    (PAID + '[[pool]]\nzone = "Mars"', "this computer knows no time zone 'Mars'; write for"),
    (PAID + "[[pool]]\nquantile = 1", "`pool[1].quantile`: should be less than 1, not 1"),
    (PAID + "[[pool]]\npad = 3", "unknown key"),
    (PAID + FREE.replace('"a"', '"b"') + "[[pool]]", "which of a, b? Name those of the pool."),
    ("x = = 1", "clouds.toml: this is not TOML: invalid value (at line 1, column 5)."),
]


def complaint(path: Path | str) -> str:
    with pytest.raises(UsageError) as caught:
        load(path)
    said = str(caught.value)
    assert "\n" not in said
    assert said.endswith((".", "?", ".)"))
    return said


@pytest.mark.parametrize(("text", "says"), MISTAKES)
def test_a_mistake_in_a_clouds_file(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("clouds.toml").write_text(text)
    assert says in complaint("clouds.toml")


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("no.toml", "The clouds file no.toml is not there."),
        ("cloud.toml", "The clouds file cloud.toml is not there; did you mean clouds.toml?"),
        (".", "is a folder; name the file."),
        ("clouds.yaml", "The clouds file clouds.yaml is not there; did you mean clouds.toml?"),
        ("mine.yaml", "The name should end in .toml."),
    ],
)
def test_a_file_that_cannot_be_read(
    name: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    if name != "no.toml":
        Path("clouds.toml").write_text(FREE)
        Path("mine.yaml").write_text("free: 1")
    assert says in complaint(name)


LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.text(max_size=10),
    st.sampled_from(["local", "ssh", "hour", "90s", "0.5", "$"]),
)
KEYS = st.sampled_from([*OfferingTable.model_fields, *CloudsFile.model_fields, "local", "ssh"])
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.dictionaries(st.one_of(KEYS, st.text(max_size=5)), inner, max_size=6),
    ),
    max_leaves=12,
)


@given(st.lists(st.dictionaries(KEYS, VALUES, max_size=6), max_size=3))
def test_any_data_is_a_clouds_file_or_one_sentence(offerings: list[dict[str, Any]]):
    try:
        check(CloudsFile, Document("clouds.toml", {"offering": offerings}, "toml", ""))
    except UsageError as error:
        if "\n" in str(error):
            raise AssertionError(str(error)) from error


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(
        st.tuples(
            st.sampled_from(["price", "per", "atu", "minimum", "boundary", "max", "slots", "name"]),
            st.sampled_from(
                ["0", "1", "-1", "0.5", '"hour"', '"90s"', '"x"', "[1]", "true", "9e9"]
            ),
        ),
        max_size=4,
        unique_by=lambda pair: pair[0],
    )
)
def test_any_offering_is_one_or_one_sentence(tmp_path: Path, lines: list[tuple[str, str]]):
    path = tmp_path / "clouds.toml"
    body = {"name": '"a"', "price": "1"} | dict(lines)
    path.write_text(
        '[[offering]]\nbackend = "local"\n' + "\n".join(f"{k} = {v}" for k, v in body.items())
    )
    try:
        load(path)
    except UsageError as error:
        if "\n" in str(error):
            raise AssertionError(str(error)) from error
