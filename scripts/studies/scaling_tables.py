"""Tables 4.3 and 4.5 of the thesis: scalers by demand, history, plans and tokens (§4.5-§4.8).

Published columns k and k' are exchanged against equations 4.8 and 4.9, as the supply that never
changes shows; here they stand by the equations.
"""

from collections.abc import Callable, Mapping, Sequence
from statistics import fmean
from typing import Final

from figures import Report

from bats.master.brain.elasticity.rankings import scores
from studies.elastic import HOUR, SLOW_BOOT, Case, Seen, Slowdown, run_case, slowdown
from studies.study import Options, Study, run_all

ROWS: Final[Mapping[str, tuple[str, float]]] = {
    "No AS": ("none", 9.0),
    "React": ("react", 9.0),
    "React⋄": ("react", SLOW_BOOT),
    "Adapt": ("adapt", 9.0),
    "Hist": ("hist", 9.0),
    "Reg (window 10, of the thesis 60)": ("reg", 9.0),
    "ConPaaS": ("conpaas", 9.0),
    "Plan": ("plan", 9.0),
    "Plan⋄": ("plan", SLOW_BOOT),
    "Token": ("token", 9.0),
}
REG: Final = "Reg (window 10, of the thesis 60)"
COLUMNS: Final = ("a_U", "a_O", "ā_U", "ā_O", "t_U", "t_O", "k", "k'", "m_U", "S_e", "V", "H", "C")

PUBLISHED: Final[Mapping[str, tuple[float, ...]]] = {
    "No AS": (0, 73, 0, 869, 0, 100, 43, 17, 73, 1, 50, 6.68, 7.00),
    "React": (2, 6, 5, 50, 15, 84, 32, 20, 7, 1.23, 23.89, 3.30, 36.68),
    "React⋄": (6, 5, 13, 40, 32, 64, 32, 21, 6, 1.57, 24.01, 3.56, 33.38),
    "Adapt": (4, 4, 8, 27, 23, 51, 34, 21, 5, 1.28, 22.86, 3.22, 48.14),
    "Hist": (1, 60, 1, 737, 2, 97, 43, 17, 60, 1.05, 44.81, 6.21, 9.90),
    REG: (3, 8, 6, 51, 17, 51, 31, 20, 8, 1.29, 24.42, 3.36, 38.08),
    "ConPaaS": (2, 33, 5, 273, 11, 76, 40, 20, 34, 1.18, 34.50, 4.72, 41.28),
    "Plan": (3, 4, 7, 24, 20, 43, 32, 20, 5, 1.27, 23.34, 3.51, 44.26),
    "Plan⋄": (7, 3, 16, 17, 35, 33, 34, 20, 4, 1.48, 22.13, 3.38, 38.04),
    "Token": (3, 6, 7, 35, 16, 53, 33, 20, 7, 1.25, 23.88, 3.31, 46.34),
}
"""Table 4.3 and the columns S_e, V̄, H̄, C̄ of Table 4.4; percents, places, hours."""

PUBLISHED_2: Final[Mapping[str, tuple[float, ...]]] = {
    "No AS": (0, 66, 0, 563, 0, 100, 41, 19, 66, 1, 50),
    "React": (2, 7, 4, 36, 17, 81, 32, 21, 7, 1.11, 22.83),
    "Hist": (1, 46, 1, 338, 5, 94, 41, 19, 46, 1.05, 40.82),
    "Plan": (3, 4, 7, 13, 22, 39, 32, 21, 4, 1.12, 21.32),
}
"""Table 4.5."""

Row = Mapping[str, float]
Runs = Mapping[str, Sequence[Seen]]


def run_rows(
    names: Sequence[str], options: Options, label: str, make: Callable[[str, int], Case]
) -> dict[str, list[Seen]]:
    """The runs of each row, seed by seed."""
    seeds = options.seeds(10, 2)
    cases = [make(name, seed) for name in names for seed in seeds]
    found = iter(run_all(run_case, cases, options, label))
    return {name: [next(found) for _ in seeds] for name in names}


def slowdowns(own: Sequence[Seen], base: Sequence[Seen]) -> Slowdown:
    each = [slowdown(one, other) for one, other in zip(own, base, strict=True)]
    return Slowdown(*(fmean(values) for values in zip(*each, strict=True)))


def row(own: Sequence[Seen], base: Sequence[Seen]) -> Row:
    """Means over seeds; shares in percent."""

    def percent(name: str) -> float:
        return 100 * fmean(getattr(one.elasticity, name) for one in own)

    shares = ("a_u", "a_o", "mean_a_u", "mean_a_o", "t_u", "t_o", "k", "k_less", "m_u")
    values = [percent(name) for name in shares]
    values += [
        slowdowns(own, base).mean,
        fmean(one.elasticity.mean_supply for one in own),
        fmean(one.accounted for one in own),
        fmean(one.charged for one in own),
    ]
    return dict(zip(COLUMNS, values, strict=True))


def tell(report: Report, rows: Mapping[str, Row], published: Mapping[str, Sequence[float]]) -> None:
    for name, theirs in published.items():
        for column, value in zip(COLUMNS, theirs, strict=False):
            unit = "h" if column in "HC" else "" if column in ("S_e", "V") else "%"
            report.figure(f"{name}, {column}", value, rows[name][column], unit)


def table3(report: Report, options: Options) -> None:
    runs = run_rows(
        list(ROWS), options, "scaling-table4.3",
        lambda name, seed: Case(ROWS[name][0], seed, boot=ROWS[name][1]),
    )  # fmt: skip
    base = runs["No AS"]
    rows = {name: row(own, base) for name, own in runs.items()}
    tell(report, rows, PUBLISHED)
    for name, (least, most) in LIMITS.items():
        label, _, column = name.rpartition(" ")
        value = rows[label][column]
        report.bar(f"{label}, {column}", f"{least:g}-{most:g}", value, least <= value <= most)
    for label, least, most in (("React", 1.15, 1.35), ("Plan", 1.1, 1.35)):
        ratio = rows[f"{label}⋄"]["S_e"] / rows[label]["S_e"]
        report.bar(f"{label}⋄, S_e over that of {label}", f"{least}-{most}", ratio,
                   least <= ratio <= most)  # fmt: skip
    still = rows["No AS"]
    report.bar("No AS: k over k' (as printed the columns are exchanged)", "> 2",
               still["k"] / still["k'"], still["k"] > 2 * still["k'"])  # fmt: skip
    rankings(report, rows)


def rankings(report: Report, rows: Mapping[str, Row]) -> None:
    found = {name: scores(own, rows["No AS"]) for name, own in rows.items()}
    overall = {"React": 1.68, "Adapt": 1.74, "Hist": 1.04, REG: 1.67, "ConPaaS": 1.21,
               "Plan": 1.81, "Token": 1.74, "React⋄": 1.47, "Plan⋄": 1.62}  # fmt: skip
    for name, published in overall.items():
        report.figure(f"{name}, overall score", published, found[name].overall)
    order = sorted(overall, key=lambda name: -found[name].overall)
    report.bar("first and second by the overall score", "Plan, Token", ", ".join(order[:2]),
               order[:2] == ["Plan", "Token"])  # fmt: skip
    users = [found[name].user for name in ("React", "Token", "Plan")]
    report.bar("user scores of React, Token and Plan apart", "≤ .06", max(users) - min(users),
               max(users) - min(users) <= 0.06)  # fmt: skip


def around(value: float, tolerance: float) -> tuple[float, float]:
    return value - tolerance, value + tolerance


LIMITS: Final[Mapping[str, tuple[float, float]]] = {
    "No AS a_O": around(73, 5),
    "No AS ā_O": around(869, 0.2 * 869),
    "No AS C": around(7, 1),
    "React a_U": around(2, 1),
    "React a_O": around(6, 1),
    "React ā_O": around(50, 10),
    "React t_U": around(15, 3),
    "React t_O": around(84, 4),
    "React m_U": around(7, 1.5),
    "React S_e": (1.2, 1.45),
    "React C": around(36.7, 0.2 * 36.7),
    "Token a_U": around(3, 1.5),
    "Token a_O": around(6, 1),
    "Token ā_O": around(35, 6),
    "Token t_U": around(16, 3),
    "Token t_O": around(53, 5),
    "Plan a_O": around(4, 2.5),
    "Plan ā_O": around(24, 14),
    "Plan t_O": around(43, 14),
    "ConPaaS a_O": around(33, 4),
    "ConPaaS t_O": around(76, 4),
    "ConPaaS V": around(34.5, 3),
    "React⋄ a_U": around(6, 2),
    "React⋄ a_O": around(5, 1),
    "React⋄ t_U": around(32, 5),
    "React⋄ t_O": around(64, 6),
    "Hist a_O": (35, 100),
    "Hist S_e": (1, 1.3),
    "Hist C": (0, 14),
    "Adapt a_U": (1, 4),
    "Adapt a_O": (4, 9),
    "Adapt S_e": (1.15, 1.6),
    f"{REG} a_U": (1, 4),
    f"{REG} a_O": (5, 20),
    f"{REG} S_e": (1.15, 1.6),
}


def table5(report: Report, options: Options) -> None:
    runs = run_rows(
        list(PUBLISHED_2), options, "scaling-table4.5",
        lambda name, seed: Case(ROWS[name][0], seed, workload=2),
    )  # fmt: skip
    base = runs["No AS"]
    tell(report, {name: row(own, base) for name, own in runs.items()}, PUBLISHED_2)
    by_size = {"React": (1.08, 1.19, 1.21), "Hist": (1.03, 1.10, 1.16), "Plan": (1.10, 1.18, 1.13)}
    for name, published in by_size.items():
        ours = slowdowns(runs[name], base)
        for size, theirs, value in zip("SML", published, ours[2:], strict=True):
            report.figure(f"{name}, S_e of {size}", theirs, value)


RATES: Final[Mapping[str, tuple[float, float]]] = {
    "react": (1.23, 17.32),
    "adapt": (1.28, 20.06),
    "hist": (1.05, 12.93),
    "reg": (1.29, 25.57),
    "conpaas": (1.18, 2.11),
}
"""S_e at the rates 1 and 14 tasks an interval; σ of Adapt and Hist is exchanged in the thesis."""

BY_SIZE: Final[Mapping[str, tuple[float, float, float]]] = {
    "react": (20.69, 8.76, 4.06),
    "adapt": (23.25, 12.26, 6.08),
    "hist": (15.30, 7.00, 3.24),
    "reg": (30.04, 14.38, 7.22),
    "conpaas": (2.12, 2.26, 1.25),
}
"""S_e at rate 14 of small, medium and large workflows."""


QUEUES: Final = {"workflow by workflow": False, "one queue of tasks": True}


def service_rate(report: Report, options: Options) -> None:
    """The order of tasks decides. By §4.4.2 the first workflow's go first, whatever waits longer;
    a queue of tasks, in which each stage of a workflow waits anew, comes nearer to Table 4.4.
    """
    names = [
        f"{name};{rate};{queue}"
        for queue in QUEUES
        for name, rate in [("none", 1), *((name, rate) for name in RATES for rate in (1, 14))]
    ]

    def case(name: str, seed: int) -> Case:
        which, rate, queue = name.split(";")
        return Case(which, seed, rate=float(rate), one_queue=QUEUES[queue])

    runs = run_rows(names, options, "scaling-service-rate", case)
    for queue in QUEUES:
        base = runs[f"none;1;{queue}"]
        for name, published in RATES.items():
            one, fourteen = (slowdowns(runs[f"{name};{rate};{queue}"], base) for rate in (1, 14))
            report.figure(f"{queue}: {name}, S_e at rate 1", published[0], one.mean)
            report.figure(f"{queue}: {name}, S_e at rate 14", published[1], fourteen.mean)
            for size, theirs, ours in zip("SML", BY_SIZE[name], fourteen[2:], strict=True):
                report.figure(f"{queue}: {name}, S_e at rate 14 of {size}", theirs, ours)
            if name == "conpaas":
                report.bar(f"{queue}: conpaas, S_e at rate 14", "≤ 8", fourteen.mean,
                           fourteen.mean <= 8)  # fmt: skip
            else:
                ratio = fourteen.mean / one.mean
                report.bar(f"{queue}: {name}, S_e at rate 14 over that at 1", "≥ 10", ratio,
                           ratio >= 10)  # fmt: skip


ATUS: Final[Mapping[str, float]] = {"hour": HOUR, "10 minutes": 600.0, "minute": 60.0}
RELEASED: Final = {"idle": "at once", "paid": "at the end of paid time"}
AT_ONCE: Final = {"none": 7.0, "react": 36.68, "plan": 44.26, "token": 46.34}
"""C̄ of Table 4.4, hours."""


def paid_release(report: Report, options: Options) -> None:
    names = [f"none,idle,{atu}" for atu in ATUS]
    names += [f"{s},{r},{a}" for s in ("react", "plan", "token") for r in ("idle", "paid")
              for a in ATUS]  # fmt: skip

    def case(name: str, seed: int) -> Case:
        which, release, atu = name.split(",")
        return Case(which, seed, release=release, atu=ATUS[atu])

    runs = run_rows(names, options, "scaling-paid-release", case)
    for name in names:
        which, release, atu = name.split(",")
        base = runs[f"none,idle,{atu}"]
        charged = fmean(one.charged for one in runs[name])
        slow = slowdowns(runs[name], base).mean
        what = f"{which}, released {RELEASED[release]}, ATU: {atu}"
        published = AT_ONCE[which] if (release, atu) == ("idle", "hour") else None
        report.figure(f"{what}, C", published, charged, "h")
        report.figure(f"{what}, S_e", None, slow)
        if atu == "hour" and which != "none":
            share = charged / fmean(one.charged for one in base)
            more = f"{what}, C over that of No AS"
            if release == "paid":
                report.bar(more, "≤ 1.02", share, share <= 1.02)
                report.bar(f"{what}, S_e", "≤ 1.08", slow, slow <= 1.08)
            else:
                report.bar(more, "≥ 4", share, share >= 4)


STUDIES = (
    Study("scaling-table4.3", "scalers on workload 1, released at once", table3),
    Study("scaling-table4.5", "scalers on workload 2", table5),
    Study("scaling-service-rate", "general scalers with a wrong service rate", service_rate),
    Study("scaling-paid-release", "machines released at the end of paid time", paid_release),
)
