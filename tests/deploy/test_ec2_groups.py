"""An instance's worker has a control group of its own, in which the kernel can limit tasks.

The script of an instance runs on a kernel that has such groups at the root, as an instance's has.
"""

import subprocess
import tempfile
from pathlib import Path

import pytest
from helpers.beds import Bed

from bats.common.messages import MachineId
from bats.common.ticket import Ticket
from bats.deploy.ec2.user_data import Source, user_data

AS_A_WORKER_DOES = """
exec > {told} 2>&1
id -un
own=/sys/fs/cgroup$(sed -n s/^0:://p /proc/self/cgroup)
mkdir $own/above $own/slots
echo $$ > $own/above/cgroup.procs
echo +memory +pids > $own/cgroup.subtree_control
cat $own/slots/cgroup.controllers
"""


@pytest.mark.backend("kernel")
@pytest.mark.parametrize("user", ["daemon", "root"])
def test_an_instances_worker_may_limit_tasks_whoever_it_runs_as(kernel_bed: Bed, user: str) -> None:
    ticket = Ticket(MachineId(1), ("tcp://127.0.0.1:9",), "s", "p", "k", 1, lease_seconds=60.0)
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o777)
        told, script = Path(folder) / "told", Path(folder) / "script"
        worker = ("sh", "-c", AS_A_WORKER_DOES.format(told=told))
        script.write_bytes(user_data(Source((), worker), ticket, user, spot=False))
        run = [kernel_bed.environment["BATS_KERNEL"], "bash", str(script)]
        subprocess.run(run, check=False, capture_output=True, timeout=120)
        assert told.read_text().split() == [user, "memory", "pids"]
