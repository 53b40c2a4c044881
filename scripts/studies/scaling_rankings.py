"""Table 4.7 of the thesis from its Tables 4.3, 4.4 and 4.6: rankings of autoscalers."""

from decimal import ROUND_HALF_UP, Decimal
from typing import Final

from figures import Report

from bats.master.brain.elasticity.rankings import fractional, fractional_printed, pairwise, scores
from studies.study import Options, Study

MEASURES: Final = ("a_U", "a_O", "t_U", "t_O", "k", "k'", "S_e", "σ", "H")

PRINTED: Final = {
    "React": (2, 6, 15, 84, 20, 32, 1.23, 0.42, 3.30),
    "React⋄": (6, 5, 32, 64, 21, 32, 1.57, 1.12, 3.56),
    "Adapt": (4, 4, 23, 51, 21, 34, 1.28, 0.55, 3.22),
    "Hist": (1, 60, 2, 97, 17, 43, 1.05, 0.14, 6.21),
    "Reg": (3, 8, 17, 51, 20, 31, 1.29, 0.59, 3.36),
    "ConPaaS": (2, 33, 11, 76, 20, 40, 1.18, 0.49, 4.72),
    "React★": (0, 19, 2, 98, 19, 64, 17.32, 34.75, 2.91),
    "Adapt★": (0, 16, 4, 96, 19, 63, 20.06, 25.12, 3.14),
    "Hist★": (0, 25, 5, 95, 20, 60, 12.93, 38.67, 3.15),
    "Reg★": (0, 12, 5, 94, 20, 62, 25.57, 45.91, 2.93),
    "ConPaaS★": (0, 44, 1, 98, 21, 45, 2.11, 3.43, 3.70),
    "Plan": (3, 4, 20, 43, 20, 32, 1.27, 0.47, 3.51),
    "Plan⋄": (7, 3, 35, 33, 20, 34, 1.48, 0.96, 3.38),
    "Token": (3, 6, 16, 53, 20, 33, 1.25, 0.44, 3.31),
    "No AS": (0, 73, 0, 100, 17, 43, 1.0, 0.0, 6.68),
}
"""Percents, slowdowns, hours. σ of ConPaaS★ is not printed: Table 4.7 implies 3.43."""

PUBLISHED: Final = {
    "React": ("79.5", "2.46", "2.20", "1.28", "1.68"),
    "React⋄": ("49", "5.30", "1.99", "1.09", "1.47"),
    "Adapt": ("63.5", "3.5", "2.38", "1.27", "1.74"),
    "Hist": ("69.5", "2.83", "1.07", "1.01", "1.04"),
    "Reg": ("69", "2.89", "2.26", "1.24", "1.67"),
    "ConPaaS": ("61", "3.12", "1.34", "1.10", "1.21"),
    "React★": ("59", "30.45", "1.41", ".36", ".72"),
    "Adapt★": ("60", "23.22", "1.49", ".33", ".7"),
    "Hist★": ("53.5", "33.62", "1.3", ".4", ".73"),
    "Reg★": ("54.5", "40.28", "1.65", ".3", ".7"),
    "ConPaaS★": ("44", "4.69", "1.15", ".93", "1.03"),
    "Plan": ("75", "2.96", "2.67", "1.22", "1.81"),
    "Plan⋄": ("61", "5.42", "2.28", "1.16", "1.62"),
    "Token": ("74", "2.6", "2.37", "1.27", "1.74"),
    "No AS": ("72.5", "2.89", "1", "1", "1"),
}
"""Pairwise points, fractional difference, scores of elasticity, of users, overall."""

COLUMNS: Final = ("pairwise", "fractional", "elasticity", "user", "overall")


def printed(value: float) -> Decimal:
    """Rounded to the two digits of the table; sums of halves are a little off before."""
    return Decimal(repr(round(value, 9))).quantize(Decimal("0.01"), ROUND_HALF_UP)


def run(report: Report, _: Options) -> None:
    rows = {name: dict(zip(MEASURES, values, strict=True)) for name, values in PRINTED.items()}
    least = {m: min(row[m] for row in rows.values()) for m in MEASURES}
    # The best spread of slowdowns is the best of those that scale: never scaling has none.
    least["σ"] = min(row["σ"] for name, row in rows.items() if name != "No AS")
    points, parts, literal = pairwise(rows), fractional(rows, least), fractional_printed(rows)
    exact = 0
    for name, published in PUBLISHED.items():
        ours = (points[name], parts[name], *scores(rows[name], rows["No AS"]))
        for column, theirs, value in zip(COLUMNS, published, ours, strict=True):
            report.figure(f"{name}, {column}", float(theirs), value)
            exact += printed(value) == Decimal(theirs)
        report.figure(f"{name}, equation 4.15 as printed", None, literal[name])
    report.bar("values as printed, to the digit", 75, exact, exact == 75)


STUDIES = (Study("scaling-table4.7", "rankings of autoscalers from the published tables", run),)
