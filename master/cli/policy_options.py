"""The options that say how the scheduler decides; they win over the `[policy]` of a sweep file."""

import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

import click
from click.shell_completion import CompletionItem

Which = Literal["tails", "provisioners", "planners", "samplings"]


class PolicyName(click.ParamType[str]):
    """A name in one of the brain's registries, looked up when it is given: that takes a while."""

    name = "name"

    def __init__(self, names: Callable[[], tuple[str, ...]]) -> None:
        self._names = names

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        if value not in self._names():
            self.fail(f"{value!r} is not one of {', '.join(self._names())}", param, ctx)
        return str(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        del ctx, param
        return [CompletionItem(name) for name in self._names() if name.startswith(incomplete)]


def _of_sweep(which: Which) -> Callable[[], tuple[str, ...]]:
    """The names that a sweep file may have there."""

    def names() -> tuple[str, ...]:
        from bats.master.sweep import policy

        found: tuple[str, ...] = getattr(policy, which)()
        return found

    return names


class _Strategy(click.ParamType[str]):
    name = "strategy"

    def convert(self, value: Any, param: Any, ctx: Any) -> str:
        from bats.master.sweep.policy import read_strategy

        try:
            return read_strategy(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class _Prudence(click.FloatRange):
    """A range lets through what is no number at all."""

    def convert(self, value: Any, param: Any, ctx: Any) -> float:
        read = float(super().convert(value, param, ctx))
        if not math.isfinite(read):
            self.fail(f"{value} is not a number from 0", param, ctx)
        return read


_OPTIONS: Final = (
    click.option("--tail", type=PolicyName(_of_sweep("tails")), metavar="NAME",
                 help="What idle machines copy when no task waits: none, random, stochastic, "
                 "stochastic+random (usual), migration+replication or ntdmr; perfect for simulate "
                 "alone."),
    click.option("--strategy", type=_Strategy(), metavar="STRATEGY",
                 help="Of the tail ntdmr, for unreliable machines: N, T, D and M_r, a name, or by "
                 "what it is chosen: product, cheapest, fastest, a formula of makespan and cost."),
    click.option("--provisioner", type=PolicyName(_of_sweep("provisioners")), metavar="NAME",
                 help="Which machines are bought: timetable (usual), paper or cost-blind."),
    click.option("--planner", type=PolicyName(_of_sweep("planners")), metavar="NAME",
                 help="What mixes come from: knapsack (usual) or milp; of workflows "
                 "also prob, average, worst-case."),
    click.option("--sampling", type=PolicyName(_of_sweep("samplings")), metavar="NAME",
                 help="How runtimes are learned: regression (usual), implicit or none."),
    click.option("--prudence", type=_Prudence(min=0), metavar="NUMBER",
                 help="How much room is kept for longer tasks: 1 is usual, 0 is none."),
)  # fmt: skip
_SEED: Final = click.option(
    "--seed", type=click.IntRange(0), help="What chance begins from: which tasks are sampled (0)."
)
_NAMES: Final = ("tail", "strategy", "provisioner", "planner", "sampling", "prudence")


def policy_options(command: Callable[..., Any]) -> Callable[..., Any]:
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def policy_and_seed_options(command: Callable[..., Any]) -> Callable[..., Any]:
    return policy_options(_SEED(command))


def policy_given(given: Mapping[str, Any], *more: str) -> dict[str, Any]:
    """The options that were given, by the names of the brain's settings."""
    return {name: given[name] for name in (*_NAMES, *more) if given[name] is not None}


def policy_in_words(policy: Mapping[str, Any]) -> str:
    """The policy in a line: `policy: tail none, prudence 0.5`."""
    said = (
        f"{name} {str(value).lower() if isinstance(value, bool) else value}"
        if not isinstance(value, float)
        else f"{name} {value:g}"
        for name, value in policy.items()
    )
    return f"policy: {', '.join(said)}"
