"""The first script of an instance: get the worker, start it, shut down when it has ended.

The text is handed to Amazon and can be read on the instance by everything that runs there, so the
ticket in it is good once, and not for long. The instance always ends itself: when a line of the
set-up fails, when that takes longer than the lease, and when the worker ends, whatever the reason.
The worker and its tasks run as a user without rights, who can neither end this script nor gain any;
the script stays root's, and powers off when the lease is over. How long that lasts the worker says
over a pipe, which its tasks cannot write to though they are the same user's: it lets nobody look
into it.
Of a command that is killed the shell prints all, its here-document too: the ticket is opened first.
"""

import base64
import gzip
import shlex
from dataclasses import replace
from typing import Final

from bats.common.records import dataclass
from bats.common.ticket import Ticket, to_json
from bats.deploy.payload import REQUIREMENTS, Payload

LIMIT_BYTES: Final = 16_384  # of what is sent, before base64
WORD: Final = "bats: the worker ended with"
NOTICE: Final = "bats: Amazon takes this instance away:"
POWER_OFF: Final = "shutdown -h now"
LATE_SECONDS: Final = 10  # after the lease, for a worker to end in order
FOLDER: Final = "/opt/bats"

SCRIPT: Final = """\
#!/bin/bash
umask 077
end() {{
    echo "{word} $1"
    sync
    {power_off}
    exit
}}
up() {{ local t; read -r t _ </proc/uptime; echo "${{t%%.*}}"; }}
mind() {{
    local ends=$(($(up) + {lease:.0f})) left told
    while left=$((ends - $(up))); [ $left -gt 0 ]; do
        if read -r -t $left told; then
            [[ $told =~ ^[0-9]{{1,12}}$ ]] && ends=$((10#$told + {late}))
        elif [ $? -le 128 ]; then # nobody is left to say so
            sleep $left
        fi
    done
    {power_off}
}}
exec 4> >(mind)
(
exec 4>&-
set -e
{setup}
)
code=$?
[ $code = 0 ] || end $code
as=()
home=$HOME
if [ {user} != root ]; then
    id {user} >/dev/null 2>&1 || useradd --system --create-home --shell /bin/sh {user} || end 70
    home=$(getent passwd {user} | cut -d: -f6)
    as=(setpriv --reuid {user} --regid {user} --init-groups --no-new-privs --)
    as+=(env HOME="$home" USER={user} LOGNAME={user})
fi
groups=/sys/fs/cgroup own=/sys/fs/cgroup/bats.$$
if [ -e $groups/cgroup.controllers ] && mkdir $own 2>/dev/null; then
    echo +memory +pids >$groups/cgroup.subtree_control
    chown {user} $own $own/cgroup.procs $own/cgroup.subtree_control
    as=(sh -c 'echo 0 >"$0"; exec "$@"' $own/cgroup.procs "${{as[@]}}")
fi
cd "$home" || end 70
exec 3<<'TICKET'
{ticket}TICKET
"${{as[@]}}" {worker} --ticket - --log json --lease-fd 4 <&3 3<&- &
worker=$!
exec 3<&- 4>&-
{watch}
wait $worker
end $?
"""

# Two minutes before it takes a spot instance away, Amazon says so; tasks end in order before that.
WATCH_SPOT: Final = """\
meta=${AWS_EC2_METADATA_SERVICE_ENDPOINT:-http://169.254.169.254/}latest
ask() { curl -sf -m 2 --noproxy '*' "$@"; }
(
while kill -0 $worker 2>/dev/null; do
    token=$(ask -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' $meta/api/token)
    known="X-aws-ec2-metadata-token: $token"
    if notice=$(ask -H "$known" $meta/meta-data/spot/instance-action); then
        echo "{notice} $notice"
        at=$(date -d "$(sed 's/.*"time": *"\\([^"]*\\)".*/\\1/' <<<"$notice")" +%s)
        left=$((at - $(date +%s) - 15))
        [ $left -le 0 ] || sleep $left
        kill -TERM $worker
        break
    fi
    sleep 2
done
) &"""

FETCH: Final = """\
mkdir -p {folder}
python3 - <<'FETCH'
import hashlib, io, urllib.request, zipfile
data = urllib.request.urlopen({url!r}, timeout=60).read()
assert hashlib.sha256(data).hexdigest() == {sha256!r}, "the worker was damaged on its way"
zipfile.ZipFile(io.BytesIO(data)).extractall({folder!r})
FETCH
python3 -I {folder} try {folder} ||
    python3 -m pip install -q --target {folder} --require-hashes -r {folder}/{requirements}
chmod -R a+rX {folder}"""
RUN: Final = (
    "import runpy, sys; sys.path.insert(0, {folder!r}); "
    "runpy.run_module('bats.worker', run_name='__main__', alter_sys=True)"
)


@dataclass(frozen=True, slots=True)
class Source:
    """The place from which an instance gets the worker."""

    setup: tuple[str, ...]  # shell lines
    worker: tuple[str, ...]  # the command that then starts it


def fetched(payload: Payload, url: str) -> Source:
    """A worker fetched from a URL; where the compiled parts do not fit, pip adds them."""
    setup = FETCH.format(url=url, sha256=payload.sha256, folder=FOLDER, requirements=REQUIREMENTS)
    return Source((setup,), ("python3", "-I", "-c", RUN.format(folder=FOLDER)))


def user_data(source: Source, ticket: Ticket, user: str, *, spot: bool) -> bytes:
    """The user data as boto3 takes it, compressed if long. Raises ValueError if still too long."""
    text = SCRIPT.format(
        word=WORD,
        power_off=POWER_OFF,
        lease=ticket.lease_seconds,
        late=LATE_SECONDS,
        user=user,
        setup="\n".join(source.setup) or ":",
        worker=shlex.join(source.worker),
        ticket=to_json(replace(ticket, single_use=True)),
        watch=WATCH_SPOT.replace("{notice}", NOTICE) if spot else "",
    ).encode()
    data = text if len(text) <= LIMIT_BYTES else gzip.compress(text, mtime=0)
    if len(data) > LIMIT_BYTES:
        raise ValueError(
            f"`setup` makes the user data {len(data)} bytes long, {LIMIT_BYTES} are allowed; "
            "put it into the image, or fetch it."
        )
    return data


def exit_code(console: str) -> int | None:
    """The worker's exit code, as the console tells it."""
    said = console.rpartition(WORD)[2].split(maxsplit=1) if WORD in console else []
    return int(said[0]) if said and said[0].isdigit() else None


def taken_away(console: str) -> bool:
    """True if the console says that the provider announced it."""
    return any(line.startswith(NOTICE) for line in console.splitlines())


def readable(output: str) -> str:
    """A console's text, which Amazon gives in base64."""
    try:
        return base64.b64decode(output, validate=True).decode(errors="replace")
    except ValueError:
        return output  # boto3 has decoded it
