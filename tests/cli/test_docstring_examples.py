"""Every example in the docstrings of what is public runs as it is printed there."""

import ast
import asyncio
import inspect
import shutil
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any, Final

import pytest
from cli.test_top_level import examples, public
from helpers.user import User
from helpers.waiting import until

import bats.prob
from bats import BatsError, Flow, SyncBag, SyncClient, UsageError, clouds, connect, sweep

SWEEP: Final = """
name = "sweep"
command = "echo loss={alpha}; echo of {alpha} >&2"
[grid]
alpha = "0:19"
"""
OFFERED: Final = """
[[offering]]
name = "here"
price = "{price}"
per = "1s"
atu = "1s"
max = 1
[offering.local]
"""
FILES: Final = {
    "sweep.toml": SWEEP,
    "mine.toml": OFFERED.format(price="0"),
    "paid.toml": OFFERED.format(price="0.01"),
    "data.csv": "x\n1\n",
}


def ended(master: SyncClient) -> SyncBag:
    bag = master.submit("sweep.toml", budget="5")
    bag.wait()
    return bag


def waiting(master: SyncClient) -> SyncBag:
    """It has tried its sample, and nobody has chosen."""
    paid = clouds("paid.toml").offerings
    work = sweep(command="sleep 0.05; echo {x}", grid={"x": "1:80"})
    bag = master.submit(work, offerings=paid, rule="ask")
    bag.wait("choosing")
    until(bag.schedules)  # they are run ahead, which takes a moment
    return bag


def running(master: SyncClient) -> SyncBag:
    return master.submit(sweep(command="sleep 60; echo {x}", grid={"x": "0:999"}), budget=1)


def paused(master: SyncClient) -> SyncBag:
    bag = running(master)
    bag.pause()
    bag.wait("paused")
    return bag


def failed(master: SyncClient) -> SyncBag:
    work = sweep(command="exit {x}", grid={"x": "0:19"}, retries=0, max_failures=100)
    bag = master.submit(work, rule="fastest")
    bag.wait()
    return bag


def to_be_added_to(master: SyncClient) -> SyncBag:
    work = sweep(command="echo {x}", grid={"x": [0]}, to_be_open=True)
    return master.submit(work, rule="fastest")


BAGS: Final[Mapping[str, Callable[[SyncClient], SyncBag]]] = {
    "bag.choose(": waiting,
    "bag.schedules(": waiting,
    'bag.wait("choosing")': waiting,
    "bag.cancel(": running,
    "bag.allow(": running,
    "bag.pause(": running,
    "bag.weigh(": running,
    "bag.drop(": running,
    "bag.resume(": paused,
    "bag.retry(": failed,
    "bag.add(": to_be_added_to,
    "bag.close(": to_be_added_to,
}
"""The bag of an example is that of the first of these that it has; else it has ended."""

REFUSED = {
    'sweep(command="echo {m}", grid={"n": "1:3"})': "{m}",
    "part.result()": "exit code 3",
    'bag.elasticity("10m", "2h")["a_u"]': "10 min|no machine yet",  # it may have had another's
    'master.elasticity("2d", "1d")["a_u"]': "machine",
}
if find_spec("pandas") is None:
    REFUSED['bag.frame().groupby("alpha")["loss"].mean()'] = "needs pandas"
"""Words of the sentences that some examples are answered here, where no more can be told."""


def all_examples() -> list[str]:
    docs = (thing.__doc__ or "" for _, thing in public())
    return list(dict.fromkeys(text for doc in docs for text in examples(doc)))


@pytest.fixture(scope="module")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SyncClient]:
    with pytest.MonkeyPatch.context() as patch:
        user = User(tmp_path_factory.mktemp("a user"))
        patch.chdir(user.folder)
        patch.setenv("BATS_STATE", str(user.state))
        for name, text in FILES.items():
            user.write(name, text)
        shutil.copy("mine.toml", "bats-clouds.toml")
        for name in ("prepare.sh", "sim", "gather.sh"):
            shutil.copy("/bin/true", name)
        with user.master(), connect() as client:
            shutil.copy(user.state / "access.json", "access.json")
            ended(client)
            yield client
            for one in client.bags():
                end(client.bag(one["bag"]))
            until(lambda: not user.machines())


@pytest.mark.parametrize("text", all_examples())
def test_an_example_runs(text: str, master: SyncClient, capsys: pytest.CaptureFixture[str]) -> None:
    made = next((make for words, make in BAGS.items() if words in text), ended)
    bag = made(master) if "bag." in text else None
    try:
        if text in REFUSED:
            with pytest.raises(BatsError, match=REFUSED[text]):
                run(text, master, bag)
        else:
            run(text, master, bag)
            assert ("print" in text) <= bool(capsys.readouterr().out)
    finally:
        if bag is not None:
            end(bag)


def run(text: str, master: SyncClient, bag: SyncBag | None) -> None:
    code = compile(text, "example", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    names = {**{name: getattr(bats, name) for name in bats.__all__}, "sys": sys, "Path": Path}
    if code.co_flags & inspect.CO_COROUTINE:
        asyncio.run(awaited(code, names, bag))
        return
    flow = Flow("one that fails")
    names["part"] = flow.task("exit 3")
    if "part." in text:
        flow.follow(master.submit(flow, retries=0))
    exec(code, {**names, "master": master, "bag": bag})


async def awaited(code: CodeType, names: dict[str, Any], bag: SyncBag | None) -> None:
    async with connect() as master:
        names["master"] = master
        if bag is not None:
            names["bag"] = await master.bag(bag.number)
        work = eval(code, names)
        if work is not None:
            await work


def end(bag: SyncBag) -> None:
    if not bag.status()["over"]:
        with suppress(UsageError):  # the example's own word may just end it
            bag.cancel("that was the example")
        bag.wait()


def test_the_example_of_prob_runs(capsys: pytest.CaptureFixture[str]) -> None:
    doc = inspect.cleandoc(bats.prob.__doc__ or "")
    shown = "\n\n".join(part for part in doc.split("\n\n") if part.startswith("    "))
    names: dict[str, Any] = {}
    exec(textwrap.dedent(shown.partition("    preprocessed  ")[0]), names)
    twice, longer = map(float, capsys.readouterr().out.split())
    assert twice == pytest.approx(2 * 33.425)
    assert 30.2 <= longer <= 44.0
    assert names["makespan"].mean > twice
