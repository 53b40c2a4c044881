"""The report: one HTML file that needs nothing else, neither a network nor a script."""

import time
from collections.abc import Iterable, Sequence
from dataclasses import fields
from html import escape
from pathlib import Path
from typing import Final

from bats.common.capacity.resources import Resources
from bats.common.messages import BagId
from bats.common.money import Money, show
from bats.common.units import counted
from bats.master.queries.lent_machines import Loan
from bats.master.report import step_spans
from bats.master.report.account import Account, account
from bats.master.report.charts import histogram, money, progress, runtimes_by_cluster, shares
from bats.master.report.document import document
from bats.master.report.promise_chart import costs, ends
from bats.master.report.renting import CALLED
from bats.master.report.svg import Drawing, duration
from bats.master.report.timeline import timeline
from bats.master.store.reader import Reader

_WIDTH: Final = 948
_MOST_MACHINES: Final = 200
_MOST_FAILURES: Final = 12
_LEGEND: Final = {
    "task": "done",
    "sample": "sample",
    "copy": "copy or stopped",
    "failed": "failed",
    "starting": "starting",
    "paid": "paid, idle",
}


def write(reader: Reader, bag: BagId, path: Path) -> Account:
    """Write the report of a bag, ended or not; returns what it tells."""
    told = account(reader, bag)
    path.write_text(html(told), encoding="utf-8")
    return told


def html(told: Account) -> str:
    return document(
        f"{told.bag.name}: report of bag {told.bag.id}",
        f"{_head(told)}{_promise(told)}{_money(told)}{_steps(told)}{_machines(told)}{_tasks(told)}"
        f"{_failures(told)}{_decisions(told)}{_list_of_machines(told)}",
    )


def _head(told: Account) -> str:
    bag, run = told.bag, told.view
    good = "good" if bag.state == "complete" else "bad"
    began = time.strftime("%d %B %Y %H:%M", time.localtime(bag.began or bag.created))
    took = duration((run.ended_at or run.now) - run.began_at)
    first = escape(bag.sweep.preview(0)) if bag.sweep.count else ""
    counted = ("complete", "with failures")  # their words say what the numbers do
    words = "" if bag.state in counted else escape(bag.words)
    cut_off = f", {run.cut_off:,} cut off" if run.cut_off else ""
    whose = f" of {escape(bag.user)}" if bag.user else ""
    takes = "" if bag.settings.task == Resources() else f". Each takes {bag.settings.task}."
    return (
        f"<h1>{escape(bag.name)}</h1>"
        f'<p><strong class="{good}">{escape(bag.state)}</strong>: {run.done:,} of {run.total:,} '
        f"tasks done, {run.failed:,} failed{cut_off}, for {_amount(told, run.spent)} in {took}. "
        f"{words}</p>"
        f'<p class="soft">Bag {bag.id}{whose}, begun {began}. The first task: '
        f"<code>{first}</code>{takes}</p>"
    )


def _steps(told: Account) -> str:
    if not told.steps:
        return ""
    table = _table(step_spans.HEADS, step_spans.rows(told.steps), numbers=range(1, 7))
    words = escape(step_spans.words(told.steps))
    return f"<h2>Steps</h2><p>{words}</p>{step_spans.drawing(told.steps, _WIDTH)}{table}"


def _promise(told: Account) -> str:
    run, promise = told.view, told.promise
    rows: list[tuple[str, str, str]] = []
    ended = run.ended_at or run.now
    if promise is not None and promise.schedule is not None:
        offer = promise.schedule
        took = duration(ended - promise.at - run.stood_still)
        after = Money(max(0, run.spent - promise.committed))
        rows = [
            ("price, from the choice on", _amount(told, offer.cost), _amount(told, after)),
            ("time, from the choice on", duration(offer.makespan_seconds),
             took),
        ]  # fmt: skip
        if offer.bounds:
            sure = f"{100 * offer.bounds.confidence:.0f} %"
            rows += [
                (f"price at {sure}", f"at most {_amount(told, offer.bounds.cost)}",
                 _amount(told, after)),
                (f"time at {sure}", f"at most {duration(offer.bounds.makespan_seconds)}",
                 took),
            ]  # fmt: skip
    if run.budget is None and run.limit is not None:
        rows.append(("all of it, the limit", _amount(told, run.limit), _amount(told, run.spent)))
    if run.budget is not None:
        rows.append(("all of it, the budget", _amount(told, run.budget), _amount(told, run.spent)))
    if run.deadline_at is not None:
        missed = ", missed" if run.deadline_missed else ""
        rows.append(("all of it, the deadline", duration(run.deadline_at - run.began_at),
                     f"{duration(ended - run.began_at)}{missed}"))  # fmt: skip
    if promise is None:
        words = "No schedule was chosen: the bag ended, or still is, in its sampling phase."
    else:
        done = f"{promise.done:,} tasks were done and {_amount(told, promise.committed)} committed"
        words = f"Chosen: {run.chosen or 'by rule'}, after {duration(promise.at)}, when {done}."
    table = _table(("", "Promised", "Came to be"), rows, numbers=(1, 2)) if rows else ""
    drawn = _how_it_moved(told)
    return f"<h2>Promise and outcome</h2><p>{escape(words)}</p>{table}{drawn}"


def _how_it_moved(told: Account) -> str:
    """The drawings of what all of it was expected to take and cost, as it ran."""
    run = told.view
    if run.told is None:
        return ""
    moments = (run.told, *run.looks)
    spent = None if run.ended_at is None else run.spent
    drawn = (
        ("Time", ends(moments, run.ended_at or run.now, run.ended_at, _WIDTH)),
        (
            "Price",
            costs(moments, run.ended_at or run.now, spent, _WIDTH, told.bag.settings.currency),
        ),
    )
    words = "of all of it, as expected and at most with 90 %, while it ran"
    return "".join(f'<p class="soft">{name} {words}</p>{svg}' for name, svg in drawn)


def _money(told: Account) -> str:
    paid = told.view.spent > 0
    shares = told.money if paid else told.time
    whole = sum(getattr(shares, part.name) for part in fields(shares))
    if not whole:
        return ""
    drawing = Drawing(_WIDTH, 30, "Shares of what was paid for")
    x, rows = 0.0, []
    for part in fields(shares):
        amount = getattr(shares, part.name)
        share = amount / whole
        said = _amount(told, Money(amount)) if paid else duration(amount / 1000)
        drawing.rectangle(x, 0, _WIDTH * share, 30, part.name, f"{CALLED[part.name]}: {said}")
        x += _WIDTH * share
        swatch = f'<span class="swatch {part.name}"></span> {CALLED[part.name]}'
        rows.append((swatch, said, f"{100 * share:.1f} %"))
    title = "Where each dollar went" if paid else "Where the machines' time went"
    if paid and told.bag.settings.currency != "$":
        title = "Where the money went"
    body = _table(("", "Money" if paid else "Slot time", "Share"), rows, numbers=(1, 2), raw=(0,))
    words = "Each machine's bill, divided by what its paid time was used for."
    return f"<h2>{title}</h2><p class=soft>{words if paid else ''}</p>{drawing.text()}{body}"


def _machines(told: Account) -> str:
    run, currency = told.view, told.bag.settings.currency
    drawn = timeline(told.served_by, told.chronicle, (), run.now, _WIDTH, currency)
    legend = "".join(f'<li class="{kind}">{words}</li>' for kind, words in _LEGEND.items())
    found = {row.cluster: row for row in told.clusters}
    rows = []
    for offering in told.bag.settings.offerings:
        row, cost = found.get(offering.name), Money(told.cost_by_cluster[offering.name])
        done = row.done if row else 0
        rows.append(
            (
                offering.name,
                f"{_amount(told, offering.price)} / {duration(offering.atu_seconds)}",
                f"{told.machines_by_cluster[offering.name]:,}",
                f"{offering.max_machines:,}",
                f"{done:,}",
                duration(row.mean_seconds) if row and done else "–",
                duration(row.longest_seconds) if row and done else "–",
                _amount(told, cost),
                show(Money(cost // done), told.bag.settings.currency, places=4)
                if done and cost
                else "–",
            )
        )
    heads = ("Cluster", "Price", "Machines", "At a time", "Tasks done", "Mean runtime", "Longest",
             "Cost", "Cost of a task")  # fmt: skip
    return (
        f'<h2>Machines</h2><ul class="legend">{legend}</ul>{_scroll("Timeline", drawn)}'
        f"{_table(heads, rows, numbers=range(1, 9))}{_shares(told)}{_loans(told)}"
    )


def _shares(told: Account) -> str:
    """The slots that it had of machines of all bags; nothing if that never changed."""
    words = f"<p>{escape(' '.join(told.shared_words))}</p>" if told.shared_words else ""
    if len(told.shared.steps) < 2:
        return words
    drawn = shares(told.shared.steps, told.view.ended_at or told.view.now, _WIDTH)
    return f"<h3>Share of common machines</h3>{words}{_scroll('Share over time', drawn)}"


def _loans(told: Account) -> str:
    """The time of machines that went from bag to bag."""
    said = []
    if told.borrowed:
        payers = sorted({one.paid_by for one in told.borrowed})
        said.append(f"{_ran(told.borrowed)} on machines paid by {_bags(payers)}, at no charge.")
    if told.lent:
        users = sorted({one.used_by for one in told.lent})
        said.append(
            f"{_ran(told.lent)} of {_bags(users)} on machines of this bag, in time that it had "
            "paid and had no use for."
        )
    return f"<p>{' '.join(said)}</p>" if said else ""


def _ran(loans: Sequence[Loan]) -> str:
    tasks = sum(one.tasks for one in loans)
    return f"{counted(tasks, 'task')} ran for {duration(sum(one.seconds for one in loans))}"


def _bags(numbers: Sequence[int]) -> str:
    return "bag " + ", ".join(map(str, numbers))


def _tasks(told: Account) -> str:
    run, currency = told.view, told.bag.settings.currency
    done = progress(told.chronicle, run.total, run.now, _WIDTH)
    parts = [f"<h3>Tasks done</h3>{_scroll('Tasks over time', done)}"]
    if run.spent:
        spent = money(told.spending, run.limit, run.now, _WIDTH, currency)
        parts.append(f"<h3>Money spent</h3>{_scroll('Money over time', spent)}")
    if law := told.law:
        parts.append(
            f"<h3>What runtimes follow from</h3><p>{escape(law.words[0].upper() + law.words[1:])}. "
            f"Found in {law.runtimes:,} runtimes, of whose differences it foretells "
            f"{100 * law.explained:.0f} %.</p>"
        )
    for name, bins in sorted(runtimes_by_cluster(told.served_by, told.chronicle).items()):
        drawn = _scroll(f"Runtimes on {name}", histogram(bins, name, _WIDTH))
        parts.append(f"<h3>Runtimes on {escape(name)}</h3>{drawn}")
    return f"<h2>Tasks and money over time</h2>{''.join(parts)}"


def _failures(told: Account) -> str:
    if not told.failures:
        return "<h2>Failures</h2><p>None.</p>"
    parts = []
    for group in told.failures[:_MOST_FAILURES]:
        tasks = ", ".join(map(str, group.tasks)) + (" …" if group.more else ".")
        output = f"<pre>{escape(group.excerpt)}</pre>" if group.excerpt else ""
        count = f"{group.attempts:,} attempt{'' if group.attempts == 1 else 's'}"
        parts.append(
            f"<h3>{count}: {escape(group.words)}</h3>"
            f"<p>{group.for_good:,} given up for good. Tasks {tasks}</p>{output}"
        )
    rest = len(told.failures) - _MOST_FAILURES
    more = f"<p>… and {rest:,} more kinds of failure.</p>" if rest > 0 else ""
    return f"<h2>Failures</h2>{''.join(parts)}{more}"


def _decisions(told: Account) -> str:
    items = "".join(
        f"<li><span>{duration(max(0.0, round(row.time, 1)))}</span>{escape(row.words)}</li>"
        for row in told.decisions
    )
    return f'<h2>Decisions</h2><ol class="decisions">{items}</ol>'


def _list_of_machines(told: Account) -> str:
    rows = [
        (
            str(one.id),
            one.offering.name,
            duration(one.since) if one.since is not None else "never came",
            duration(one.until - one.since) if one.since is not None else "–",
            f"{did.done:,}" if (did := told.chronicle.machines.get(one.id)) else "0",
            _amount(told, one.cost),
            one.reason,
        )
        for one in told.machines[:_MOST_MACHINES]
    ]
    rest = len(told.machines) - len(rows)
    more = f"<p>… and {rest:,} more; the CSV has them all.</p>" if rest else ""
    heads = ("Machine", "Cluster", "Came after", "Stayed", "Tasks", "Cost", "Why it left")
    return f"<h2>List of machines</h2>{_table(heads, rows, numbers=(0, 2, 3, 4, 5))}{more}"


def _table(
    heads: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Iterable[int] = (),
    raw: Iterable[int] = (),
) -> str:
    right, as_is = set(numbers), set(raw)

    def cells(name: str, row: Sequence[str]) -> str:
        return "".join(
            f"<{name}{' class=number' if k in right else ''}>"
            f"{cell if k in as_is else escape(cell)}</{name}>"
            for k, cell in enumerate(row)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = f"<tr>{cells('th', heads)}</tr>"
    table = f"<table><thead>{head}</thead><tbody>{body}</tbody></table>"
    return _scroll(" ".join(heads).strip(), table)


def _scroll(label: str, content: str) -> str:
    """A frame for what is wider than a phone: it is moved sideways, also with the keyboard."""
    opening = f'<div class="scroll" tabindex="0" role="region" aria-label="{escape(label)}">'
    return f"{opening}{content}</div>"


def _amount(told: Account, amount: Money) -> str:
    return show(amount, told.bag.settings.currency)
