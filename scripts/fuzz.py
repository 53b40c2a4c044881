#!/usr/bin/env python3
"""Feeds what nobody would write to all that reads foreign input: messages, sweeps, clouds files.

usage: scripts/fuzz.py [--minutes 10] [--seed N] [--only TARGET] [--json]

Whatever comes in, it is taken or refused with one of our errors, in bounded time and memory; exit
code 1 if not. Inputs are made by hypothesis: out of nothing, and by damaging what is right.
"""

import argparse
import json
import random
import resource
import sys
import tempfile
import time
import typing
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import cycle
from pathlib import Path
from typing import Any, Final

import msgpack
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st

from bats.common import messages as m
from bats.common.errors import BatsError, UsageError
from bats.common.messages import BagId
from bats.common.ticket import from_json
from bats.common.wire.codec import Message, ProtocolError, decode, encode, name_of
from bats.master.api.reading import submission
from bats.master.clouds import clouds_file, clouds_reading
from bats.master.clouds.discovery import Found
from bats.master.clouds.example import example
from bats.master.service.api.submission import bag_of
from bats.master.service.options import Options
from bats.master.sweep.sweep_model import SweepFile
from bats.master.sweep.sweep_reading import load as load_sweep

MEMORY_BYTES: Final = 1 << 30  # address space beyond what is there at the start
GROWTH_KIB: Final = 256 << 10  # of the largest resident size
CPU_SECONDS: Final = 5.0  # for one input
ROUND: Final = 100  # examples of a target at a time
EXAMPLES: Final = Path(__file__).with_name("examples")

Look = Callable[[Any], None]


@dataclass(slots=True)
class Target:
    """`look` reads an input; it raises nothing but what `refusal` names."""

    name: str
    inputs: st.SearchStrategy[Any]
    look: Look
    refusal: type[BatsError]
    taken: int = 0
    refused: int = 0
    slowest: float = 0.0
    failures: list[str] = field(default_factory=list)

    def try_one(self, given_input: Any) -> None:
        began = time.process_time()
        try:
            self.look(given_input)
            self.taken += 1
        except self.refusal:
            self.refused += 1
        took = time.process_time() - began
        self.slowest = max(self.slowest, took)
        if took > CPU_SECONDS:
            raise AssertionError(f"took {took:.1f} s of processor time")


# --- inputs ---------------------------------------------------------------------------------------


@st.composite
def damaged(draw: Any, good: st.SearchStrategy[bytes]) -> bytes:
    """Something right with pieces cut out, doubled, overwritten."""
    data = bytearray(draw(good))
    for _ in range(draw(st.integers(0, 6))):
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 40)))
        match draw(st.sampled_from(("put", "cut", "double", "swap"))):
            case "put":
                data[start:end] = draw(_PIECES)
            case "cut":
                del data[start:end]
            case "double":
                data[start:start] = data[start:end] * draw(st.sampled_from((1, 2, 50)))
            case _:
                data[start:end] = data[start:end][::-1]
    return bytes(data)


_PIECES: Final = st.one_of(
    st.binary(max_size=6),
    st.text(max_size=6).map(lambda text: text.encode("utf-8", "replace")),
    st.sampled_from(
        [
            *(b"\xdd\xff\xff\xff\xff", b"\xdb\xff\xff\xff\xff", b"\xc6\x7f\xff\xff\xff"),
            *(b"\x91" * 99, b"\\u0000", b"\\ud800", b"\n", b"? ", b"- " * 40, b"../" * 9),
            *(b"\xcf" + b"\xff" * 8, b"\xd3\x80" + bytes(7), b"\xcb\x7f\xf8" + bytes(6)),
            *(b"{", b"}}", b"{x!raw}", b"[", b"[[" * 50, b'"', b"'''"),
            *(b"1e999", b"-0", b"nan", b"0:1e12:1e-9", b"1:1000000000000", b"9" * 400, b"1-9:2%4"),
            *(b"&a ", b"*a", b"<<: *a", b"!!python/object:os.system "),
            *(b"1h", b"-1h", b"1e400h", b"$5", b"1.0000000001", b"local", b"slurm", b"atu = "),
        ]
    ),
)  # fmt: skip
TEXTS: Final = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["1:10", "0.1:1:0.1", "0:1e12:1e-9", "1-10:2%4", "{a}", "{", "1h", "$5", "\0", "\ud800"]
    ),
)
LEAVES: Final = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), TEXTS, st.binary(max_size=4)
)
PLAIN: Final = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)
KINDS: Final[tuple[type[Any], ...]] = typing.get_args(Message)

YAML_BOMB: Final = "grid: {a: &a [1, 2]}\n" + "\n".join(
    f"x{k}: &{b} [*{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}, *{a}]"
    for k, (a, b) in enumerate(zip("abcdefghij", "bcdefghijk", strict=True))
)


def frames() -> st.SearchStrategy[bytes]:
    numbers = st.sampled_from([1, 2, 3, 4, 5, 6, *range(20, 29), 40, 41, 42, 60, 61, 62])
    rows = st.tuples(numbers, st.lists(PLAIN, max_size=14)).map(lambda row: _packed(*row))
    messages = st.one_of([_like(kind) for kind in KINDS]).map(encode)
    return st.one_of(st.binary(max_size=300), rows, messages, damaged(messages), damaged(rows))


def _packed(number: int, values: list[Any]) -> bytes:
    try:
        return typing.cast("bytes", msgpack.packb([number, *values]))
    except (OverflowError, ValueError):
        return bytes([0x91, number])


def _like(hint: Any) -> st.SearchStrategy[Any]:
    """Something an annotation allows."""
    hint = getattr(hint, "__supertype__", hint)
    arguments = typing.get_args(hint)
    simple = {
        int: st.integers(0, 2**63 - 1) | st.just(m.PROTOCOL),
        float: st.floats(0, 1e300),
        str: st.text(max_size=8),
        bytes: st.binary(max_size=8),
        bool: st.booleans(),
        m.Outcome: st.integers(0, 9),
        Any: st.none() | st.integers(0, 9) | st.text(max_size=4),
    }
    if hint in simple:
        return simple[hint]
    if typing.get_origin(hint) is dict:
        return st.dictionaries(st.text(max_size=4), _like(arguments[1]), max_size=3)
    if typing.get_origin(hint) is tuple and arguments[-1] is Ellipsis:
        return st.lists(_like(arguments[0]), max_size=3).map(tuple)
    if typing.get_origin(hint) is tuple:
        return st.tuples(*map(_like, arguments))
    fields = typing.get_type_hints(hint)
    return st.builds(hint, **{name: _like(kind) for name, kind in fields.items()})


def sweeps() -> st.SearchStrategy[tuple[str, bytes]]:
    """A file's ending, and what stands in the file."""
    written = [path.read_bytes() for path in sorted(EXAMPLES.glob("*.toml"))]
    tables = st.dictionaries(st.sampled_from([*SweepFile.model_fields]) | TEXTS, PLAIN, max_size=6)
    as_json = tables.map(lambda table: json.dumps(table | {"command": "x"}, default=str).encode())
    toml = st.tuples(st.just("toml"), damaged(st.sampled_from(written)))
    other = st.tuples(st.sampled_from(("json", "yaml")), as_json | damaged(as_json))
    yaml = st.tuples(st.just("yaml"), damaged(st.just(YAML_BOMB.encode())))
    nothing = st.tuples(st.sampled_from(("toml", "json", "yaml")), st.binary(max_size=200))
    return st.one_of(toml, other, yaml, nothing)


def clouds() -> st.SearchStrategy[bytes]:
    written = [CLOUDS.encode(), example(Found()).encode()]
    return damaged(st.sampled_from(written)) | st.binary(max_size=200)


CLOUDS: Final = """\
currency = "$"
[[offering]]
name = "slow"
price = "0.04"
per = "5s"
atu = "5s"
max = 4
boundary = "1.5s"
[offering.local]
speed = 1
[[offering]]
name = "fast"
backend = "ssh"
price = 0.10
minimum = "1m"
slots = 4
max = 2
priced = "2026-11-01"
[offering.ssh]
hosts = ["a", "b.example.org"]
"""
TICKET: Final = (
    '{"version": 1, "machine": 7, "master": ["tcp://a:1"], "server_key": "%s", "public_key": "%s",'
    ' "secret_key": "%s", "slots": 2, "lease_seconds": 60.0}' % (("k" * 40,) * 3)
)
_SUBMITTED: Final = ("name", "budget", "rule", "sampling", "inputs", "offerings", "seed", "tail")
BODIES: Final = st.fixed_dictionaries(
    {"sweep": st.just("a good one") | PLAIN}, optional=dict.fromkeys(_SUBMITTED, PLAIN)
)


# --- what is looked at ----------------------------------------------------------------------------


def look_at_frame(frame: bytes) -> None:
    name_of(frame)
    heard = decode(frame)
    if decode(encode(heard)) != heard:
        raise AssertionError("it is not the same when it is said again")


def look_at_sweep(folder: Path, written: tuple[str, bytes]) -> None:
    ending, content = written
    path = folder / f"sweep.{ending}"
    path.write_bytes(content)
    with _one_sentence():
        sweep = load_sweep(path)
        for index in {0, sweep.count // 2, sweep.count - 1}:
            sweep.preview(index)
        sweep.to_plain()


def look_at_clouds(folder: Path, content: bytes) -> None:
    path = folder / "clouds.toml"
    path.write_bytes(content)
    with _one_sentence():
        clouds_file.load(path)


def look_at_ticket(content: bytes) -> None:
    from_json(content.decode(errors="replace"), "ticket")


def look_at_body(body: dict[str, Any]) -> None:
    if body["sweep"] == "a good one":
        body = body | {"sweep": _SWEEP}
    bag_of(submission(body), BagId(1), _OPTIONS)


_SWEEP: Final = load_sweep(EXAMPLES / "array.toml").to_plain()
_OPTIONS: Final = replace(Options(), offerings=clouds_reading.this_computer().offerings)


class _one_sentence:  # noqa: N801  # reads as what it is
    """A refusal names what is wrong on one line."""

    def __enter__(self) -> None: ...

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if isinstance(error, UsageError) and "\n" in str(error):
            raise AssertionError(f"more than one line: {error}") from error


def targets(folder: Path) -> list[Target]:
    return [
        Target("messages", frames(), look_at_frame, ProtocolError),
        Target("sweep files", sweeps(), lambda one: look_at_sweep(folder, one), UsageError),
        Target("clouds files", clouds(), lambda one: look_at_clouds(folder, one), UsageError),
        Target("tickets", damaged(st.just(TICKET.encode())), look_at_ticket, UsageError),
        Target("submissions", BODIES, look_at_body, UsageError),
    ]


# --- running --------------------------------------------------------------------------------------


def fuzz(target: Target, examples: int, number: int) -> None:
    """One round; a failure is kept, with the smallest input that shows it."""

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
        print_blob=False,
    )
    @given(target.inputs)
    def round_(one: Any) -> None:
        target.try_one(one)

    try:
        round_()
    except Exception as error:  # whatever it is, it is what we look for
        notes = " ".join(getattr(error, "__notes__", ()))
        target.failures.append(f"{type(error).__name__}: {error}; {notes}"[:2000])


def _resident_kib() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def _limit_memory() -> None:
    mapped = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + MEMORY_BYTES, resource.RLIM_INFINITY))


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--only", help="the target with these words")
    parser.add_argument("--json", action="store_true", help="print one object, last")
    given_arguments = parser.parse_args(arguments)
    chance = random.Random(given_arguments.seed)
    ends = time.monotonic() + 60 * given_arguments.minutes
    with tempfile.TemporaryDirectory(prefix="bats-fuzz-") as folder:
        wanted = [
            target
            for target in targets(Path(folder))
            if not given_arguments.only or given_arguments.only in target.name
        ]
        for target in wanted:
            fuzz(target, 20, 0)  # everything is loaded before memory is limited
        _limit_memory()
        before = _resident_kib()
        for target in cycle(wanted):
            if time.monotonic() > ends or len(target.failures) > 5:
                break
            fuzz(target, ROUND, chance.getrandbits(32))
    growth = _resident_kib() - before
    facts = {
        "name": "fuzz",
        "minutes": given_arguments.minutes,
        "targets": [_fact(target) for target in wanted],
        "growth_mib": round(growth / 1024, 1),
        "growth_limit_mib": GROWTH_KIB >> 10,
    }
    print(json.dumps(facts) if given_arguments.json else _table(facts))
    return 1 if growth > GROWTH_KIB or any(one.failures for one in wanted) else 0


def _fact(target: Target) -> dict[str, Any]:
    return {
        "target": target.name,
        "taken": target.taken,
        "refused": target.refused,
        "slowest_seconds": round(target.slowest, 3),
        "failures": sorted(set(target.failures)),
    }


def _table(facts: dict[str, Any]) -> str:
    lines = [f"{'target':14}{'taken':>9}{'refused':>9}{'slowest':>10}  failures"]
    for one in facts["targets"]:
        lines.append(
            f"{one['target']:14}{one['taken']:>9}{one['refused']:>9}"
            f"{one['slowest_seconds']:>8.2f} s  {len(one['failures'])}"
        )
        lines += [f"    {failure}" for failure in one["failures"]]
    grown, limit = facts["growth_mib"], facts["growth_limit_mib"]
    lines.append(f"memory grew by {grown:g} MiB, at most {limit} are allowed")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.exit(main())
