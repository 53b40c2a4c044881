"""A user who limits what tasks may use is told where the kernel does not keep the limits."""

from bats.common.capacity.resources import Resources
from bats.common.messages import LIMITS_ENFORCED, LIMITS_WATCHED, BagId, BagSpec, MachineId
from bats.common.wire.codec import decode, encode
from bats.master.service.machines.worker import Worker
from bats.master.service.telling.task_limits import TaskLimits

LIMITED = BagSpec(BagId(1), (), command="true", cluster="rented", memory_bytes=2 << 30, pids=9)


def worker(limits: str) -> Worker:
    one = Worker(MachineId(1), b"", "first", Resources())
    one.host, one.limits = "host-7", limits
    return one


def told(*limits: str, spec: BagSpec = LIMITED) -> tuple[list[BagSpec], list[str]]:
    notes: list[str] = []
    of_bag = TaskLimits(notes.append)
    return [of_bag.for_worker(spec, worker(one)) for one in limits], notes


def test_where_the_kernel_keeps_limits_there_is_nothing_to_say() -> None:
    assert told(LIMITS_ENFORCED) == ([LIMITED], [])


def test_where_the_worker_looks_each_second_the_user_is_told_once() -> None:
    specs, notes = told(LIMITS_WATCHED, LIMITS_WATCHED)
    assert specs == [LIMITED, LIMITED]
    (note,) = notes
    assert note.startswith("limits of tasks are looked at each second on rented (host-7)")
    assert note.endswith("a task may take more in between")


def test_a_worker_of_an_older_release_gets_a_spec_that_it_can_read_and_the_user_is_told() -> None:
    (spec,), (note,) = told("")
    assert (spec.memory_bytes, spec.pids) == (0, 0)
    assert note.startswith("tasks have no limits on rented (host-7)")


def test_a_bag_without_limits_is_told_to_all_alike_and_as_older_releases_know_it() -> None:
    plain = BagSpec(BagId(1), (), command="true")
    assert told("", LIMITS_WATCHED, spec=plain) == ([plain, plain], [])
    assert encode(plain)[:3] == b"\xdc\x00\x11"  # 17: the type and the 16 fields of version 0.1.0
    assert decode(encode(plain)) == plain
    assert decode(encode(LIMITED)) == LIMITED
