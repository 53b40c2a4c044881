"""The environment that a task finds: that of the daemon, the bag's own, and the BATS_* variables.

BATS_TASK_ID   the task's row in the sweep, from 0
BATS_INDEX     its number in `array`, if the sweep has one, else the same
BATS_BAG, BATS_ATTEMPT (from 1), BATS_CLUSTER (the offering), BATS_SPEED (emulated, else 1)
BATS_CPUS      the CPUs of the machine that are the attempt's own
BATS_SCRATCH   an empty folder of the attempt's own, deleted after it
BATS_PARAM_X   the value of parameter x; letters in capitals, anything odd an underscore
CUDA_VISIBLE_DEVICES   the GPUs that are its own, if the sweep asks for some

`compat` adds the variables that scripts for array jobs of Slurm or Grid Engine look for.
"""

import os
import re
from collections.abc import Callable, Mapping, Sequence

from bats.common.capacity.resources import DEVICES
from bats.common.messages import AttemptId, BagSpec
from bats.common.template import compile_template

Environment = Mapping[bytes, bytes]
_ARRAY = "array"  # the parameter that a sweep's `array` makes


def own_environment() -> dict[bytes, bytes]:
    """The daemon's, without what only concerns the daemon."""
    return {k: v for k, v in os.environb.items() if not k.startswith(b"BATS_")}


def task_environment(
    spec: BagSpec, base: Environment, speed: float
) -> Callable[[AttemptId, Sequence[str], bytes, Sequence[str]], dict[bytes, bytes]]:
    """A function that makes an attempt's environment: from values, scratch folder and GPUs."""
    encode = os.fsencode
    fixed = dict(base)
    fixed[b"BATS_BAG"] = b"%d" % spec.bag
    fixed[b"BATS_CLUSTER"] = encode(spec.cluster)
    fixed[b"BATS_SPEED"] = b"%g" % speed
    fixed[b"BATS_CPUS"] = b"%d" % spec.cpus
    parameters = [b"BATS_PARAM_" + encode(re.sub(r"\W", "_", n).upper()) for n in spec.names]
    filled = []
    for key, text in spec.env.items():
        fill = compile_template(text, spec.names, f"env.{key}")
        if "{" in text:
            filled.append((encode(key), fill))
        else:
            fixed[encode(key)] = encode(fill(()))
    visible = encode(DEVICES)
    array = spec.names.index(_ARRAY) if _ARRAY in spec.names else None
    compat = {"slurm": _slurm, "sge": _sge}.get(spec.compat)

    def make(
        attempt: AttemptId, values: Sequence[str], scratch: bytes, devices: Sequence[str]
    ) -> dict[bytes, bytes]:
        env = fixed.copy()
        row = b"%d" % attempt.task
        index = row if array is None else encode(values[array])
        env[b"BATS_TASK_ID"] = row
        env[b"BATS_INDEX"] = index
        env[b"BATS_ATTEMPT"] = b"%d" % attempt.attempt
        env[b"BATS_SCRATCH"] = scratch
        if spec.gpus:
            env[visible] = encode(",".join(devices))
        for name, value in zip(parameters, values, strict=True):
            env[name] = encode(value)
        if compat is not None:
            compat(env, spec, index, array is not None)
        for key, fill in filled:
            env[key] = encode(fill(values))
        return env

    return make


def _slurm(env: dict[bytes, bytes], spec: BagSpec, index: bytes, array: bool) -> None:
    env[b"SLURM_JOB_ID"] = env[b"SLURM_ARRAY_JOB_ID"] = env[b"BATS_BAG"]
    env[b"SLURM_ARRAY_TASK_ID"] = index
    env[b"SLURM_ARRAY_TASK_COUNT"] = b"%d" % spec.tasks
    env[b"SLURM_CPUS_PER_TASK"] = env[b"BATS_CPUS"]
    if not array:  # otherwise first and last are the sweep's, and not known here
        env[b"SLURM_ARRAY_TASK_MIN"] = b"0"
        env[b"SLURM_ARRAY_TASK_MAX"] = b"%d" % max(0, spec.tasks - 1)


def _sge(env: dict[bytes, bytes], spec: BagSpec, index: bytes, array: bool) -> None:
    env[b"JOB_ID"] = env[b"BATS_BAG"]
    env[b"SGE_TASK_ID"] = index if array else b"%d" % (int(index) + 1)  # Grid Engine counts from 1
    env[b"NSLOTS"] = env[b"BATS_CPUS"]
    env[b"TMPDIR"] = env[b"BATS_SCRATCH"]
    if not array:
        env[b"SGE_TASK_FIRST"] = env[b"SGE_TASK_STEPSIZE"] = b"1"
        env[b"SGE_TASK_LAST"] = b"%d" % max(1, spec.tasks)
