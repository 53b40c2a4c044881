"""Plans of a bag: what is offered, what stands behind it, what was decided."""

from bats.master.brain.planning.schedules import pick
from bats.master.plain_data import plain
from bats.master.queries.bags import status_at_work
from bats.master.queries.question import Body, Question


async def schedules(question: Question) -> Body:
    at_work = await question.load()
    bounded = await at_work.predictions.bounded()
    run = at_work.engine.headline()
    return {
        "bag": at_work.id,
        "phase": run.phase.value,
        "chosen": run.chosen,
        "balanced": pick(run.offered, "balanced").name if run.offered else "",
        "currency": at_work.bag.settings.currency,
        "clusters": [one.name for one in at_work.bag.settings.offerings],
        "committed": run.chosen_committed if run.chosen else run.committed,
        "schedules": plain(bounded),
    }


async def explain(question: Question) -> Body:
    """The numbers behind the plan: what the sample said, what was chosen, what is expected."""
    at_work = await question.load()
    return {**status_at_work(at_work), **plain(at_work.engine.explain())}


async def decisions(question: Question) -> Body:
    number, since = await question.bag(), question.whole("since", 0)
    rows = await question.read(lambda reader: reader.decisions(number))
    found = [{"number": k, "time": row.time, "words": row.words} for k, row in enumerate(rows)]
    return {"bag": number, "decisions": found[since:]}
