"""Gives each running instance of moto's EC2 a machine on this computer that runs its user data.

Stopped or terminated through the API, a machine is gone within 0.2 s; one that shuts itself down is
stopped or terminated in the API, as its InstanceInitiatedShutdownBehavior says.

STATE/i/<instance id>/ holds console.log, user-data, pid; a test may write there:
    crash        the machine dies; the API goes on saying "running", as of a machine that hangs
    interrupt    SECONDS: a spot interruption: the notice in the metadata now, the end later
"""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import threading
import time
from base64 import b64decode
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

import ec2_metadata
from moto.backends import get_backend
from moto.core import DEFAULT_ACCOUNT_ID
from moto.ec2.models.instances import StateReason

_PAST_OPTIONS = 'until [ "$1" = -- ]; do shift; done; shift; exec "$@"'
HERE = Path(__file__).resolve().parent


class Host(Protocol):
    """A maker of machines: of processes, or of network namespaces."""

    def metadata_folder(self, folder: Path) -> Path: ...
    def boot(self, instance: Any, folder: Path) -> subprocess.Popen[bytes]: ...
    def clear(self, instance: Any, folder: Path) -> None: ...


@dataclass(slots=True)
class Machine:
    instance: Any
    process: subprocess.Popen[bytes]
    folder: Path
    metadata: Path
    interrupted_at: float = float("inf")


class Machines:
    def __init__(self, state: Path, host: Host, lock: threading.RLock, delay: float) -> None:
        self.state, self.host, self.lock, self.delay = state, host, lock, delay
        self.machines: dict[str, Machine] = {}
        self.crashed: set[str] = set()
        self.seen_at: dict[str, float] = {}

    def step(self) -> None:
        """Bring machines and instances into line."""
        with self.lock:
            running = {i.id: i for i in _instances() if i.state in ("pending", "running")}
            now = time.monotonic()
            for name, machine in list(self.machines.items()):
                if name not in running:
                    self.halt(name)
                else:
                    self.look_after(name, machine, now)
            self.crashed &= running.keys()
            self.seen_at = {i: self.seen_at.get(i, now) for i in running}
            for name, instance in running.items():
                due = now - self.seen_at[name] >= self.delay
                if due and name not in self.machines and name not in self.crashed:
                    self.boot(instance)

    def look_after(self, name: str, machine: Machine, now: float) -> None:
        notice = machine.folder / "interrupt"
        if machine.interrupted_at == float("inf") and notice.exists():
            seconds = float(notice.read_text() or 120)
            machine.interrupted_at = now + seconds
            at = _utc(timedelta(seconds=seconds))
            action = json.dumps({"action": "terminate", "time": at})
            _put(machine.metadata / "latest/meta-data/spot/instance-action", action)
            _put(machine.metadata / "latest/meta-data/spot/termination-time", at)
        if now >= machine.interrupted_at:
            machine.instance.terminate()
            _say_why(machine.instance, "Server.SpotInstanceTermination: Spot instance termination")
        elif (machine.folder / "crash").exists():
            self.halt(name)
            self.crashed.add(name)
        elif machine.process.poll() is not None:
            asked = (machine.folder / "shutdown").exists()
            self.halt(name)
            if not asked:
                self.crashed.add(name)
                return
            ends = machine.instance.instance_initiated_shutdown_behavior == "terminate"
            machine.instance.terminate() if ends else machine.instance.stop()
            _say_why(
                machine.instance, "Client.InstanceInitiatedShutdown: Instance initiated shutdown"
            )

    def boot(self, instance: Any) -> None:
        folder = self.state / "i" / instance.id
        metadata = self.host.metadata_folder(folder)
        data = b64decode(instance.user_data.as_bytes()) if instance.user_data else b""
        if data[:2] == b"\x1f\x8b":
            data = gzip.decompress(data)
        _put(folder / "user-data", data)
        (folder / "user-data").chmod(0o700)
        _put(folder / "authorized_keys", _public_key(instance))
        _write_metadata(metadata / "latest", instance, data)
        process = self.host.boot(instance, folder)
        _put(folder / "pid", str(process.pid))
        self.machines[instance.id] = Machine(instance, process, folder, metadata)
        print(_utc(), "booted", instance.id, "as", process.pid, flush=True)

    def halt(self, name: str) -> None:
        machine = self.machines.pop(name)
        if machine.process.poll() is None:
            os.killpg(machine.process.pid, signal.SIGKILL)
            machine.process.wait()
        self.host.clear(machine.instance, machine.folder)
        for file in ("pid", "shutdown", "crash", "interrupt"):
            (machine.folder / file).unlink(missing_ok=True)
        shutil.rmtree(machine.metadata / "latest/meta-data/spot", ignore_errors=True)
        print(_utc(), "halted", name, "with", machine.process.returncode, flush=True)

    def halt_all(self) -> None:
        for name in list(self.machines):
            self.halt(name)


class ProcessHost:
    """A machine is a process group of this user, in its own folder, with its own `shutdown`."""

    def __init__(self, state: Path, endpoint: str) -> None:
        self.endpoint = endpoint
        self.metadata = state / "metadata"
        self.metadata.mkdir(exist_ok=True)
        server = ec2_metadata.server(self.metadata, ("127.0.0.1", 0))
        self.metadata_url = f"http://127.0.0.1:{server.server_address[1]}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.shims = state / "shims"
        for name in ("shutdown", "poweroff", "halt"):  # must not reach this computer
            _put(self.shims / name, '#!/bin/sh\ntouch "$EC2_BED_MACHINE/shutdown"; sleep 9\n')
            (self.shims / name).chmod(0o755)
        for name, does in (("useradd", "exit 0"), ("setpriv", _PAST_OPTIONS)):  # nor its users
            _put(self.shims / name, f"#!/bin/sh\n{does}\n")
            (self.shims / name).chmod(0o755)
        _put(self.shims / "getent", '#!/bin/sh\necho "$2:x:0:0::$EC2_BED_MACHINE:/bin/sh"\n')
        (self.shims / "getent").chmod(0o755)
        _put(self.shims / "chown", "#!/bin/sh\n")
        (self.shims / "chown").chmod(0o755)

    def metadata_folder(self, folder: Path) -> Path:
        return self.metadata / folder.name

    def boot(self, instance: Any, folder: Path) -> subprocess.Popen[bytes]:
        environment = _environment(instance, folder, self.endpoint) | {
            "PATH": f"{self.shims}:{os.environ['PATH']}",
            "HOME": str(folder),
            "AWS_EC2_METADATA_SERVICE_ENDPOINT": f"{self.metadata_url}/{instance.id}/",
        }
        # the machine goes on when its user data is done, until it is shut down
        life = (
            'head -c2 user-data | grep -q "#!" && ./user-data & '
            "while [ ! -e shutdown ]; do sleep 0.1; done"
        )
        return _spawn(["sh", "-c", life], folder, environment)

    def clear(self, instance: Any, folder: Path) -> None:
        """Kill what left the process group and still carries our mark in its environment."""
        del instance
        mark = f"EC2_BED_MACHINE={folder}".encode()
        for process in Path("/proc").glob("[0-9]*"):
            try:
                if mark in (process / "environ").read_bytes().split(b"\0"):
                    os.kill(int(process.name), signal.SIGKILL)
            except OSError:  # another user's, or gone
                continue


class NamespaceHost:
    """A machine is a set of namespaces with the addresses that the API gave it."""

    def __init__(self, state: Path, endpoint: str) -> None:
        self.state, self.endpoint = state, endpoint
        self.bridge = os.environ["BRIDGE"]
        (state / "no-hosts").touch()

    def metadata_folder(self, folder: Path) -> Path:
        return folder / "metadata"

    def boot(self, instance: Any, folder: Path) -> subprocess.Popen[bytes]:
        space, link = self._names(instance)
        _ip("netns", "add", space)
        _ip("link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", space)
        _ip("link", "set", link, "master", self.bridge, "up")
        for address in _addresses(instance):
            _ip("-n", space, "addr", "add", f"{address}/32", "dev", "eth0")
            _ip("route", "replace", f"{address}/32", "dev", self.bridge)
        _ip("-n", space, "addr", "add", "169.254.169.254/32", "dev", "lo")
        _ip("-n", space, "link", "set", "lo", "up")
        _ip("-n", space, "link", "set", "eth0", "up")
        source = _addresses(instance)[0]
        _ip("-n", space, "route", "add", "default", "dev", "eth0", "src", source)
        environment = _environment(instance, folder, self.endpoint) | {
            "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
            "HOME": "/root",
        }
        machine = ("machine.sh", f"{folder}/fs", instance.private_dns_name.partition(".")[0])
        bind = ":".join([str(HERE), sys.prefix, sys.base_prefix, os.environ.get("BIND", "")])
        command = [
            *("ip", "netns", "exec", space, "unshare", "--mount", "--uts", "--ipc", "--pid"),
            *("--fork", "--kill-child", HERE / machine[0], *machine[1:]),
            *(self.state / "no-hosts", folder, bind, HERE / "ec2_init.sh", folder, sys.executable),
        ]
        return _spawn([str(word) for word in command], folder, environment)

    def clear(self, instance: Any, folder: Path) -> None:
        del folder
        space, link = self._names(instance)
        for address in _addresses(instance):
            _ip("route", "del", f"{address}/32", "dev", self.bridge, check=False)
        _ip("link", "del", link, check=False)
        _ip("netns", "del", space, check=False)

    def _names(self, instance: Any) -> tuple[str, str]:
        """Of the network namespace and of our end of its cable (15 characters are allowed)."""
        return f"{self.bridge}-{instance.id[-8:]}", f"be{instance.id[-12:]}"


def _instances() -> list[Any]:
    regions = get_backend("ec2")[DEFAULT_ACCOUNT_ID]
    return [i for region in list(regions.values()) for i in region.all_instances()]


def _addresses(instance: Any) -> list[str]:
    return [a for a in (instance.private_ip, instance.public_ip) if a]


def _public_key(instance: Any) -> str:
    pair = instance.ec2_backend.key_pairs.get(instance.key_name)
    return pair.material_public.decode().strip() + "\n" if pair else ""


def _say_why(instance: Any, reason: str) -> None:
    """Only the provider knows this; moto says Client.UserInitiatedShutdown of all ends."""
    instance.state_reason = StateReason(reason, reason.partition(":")[0])


def _environment(instance: Any, folder: Path, endpoint: str) -> dict[str, str]:
    return {
        "BATS_TESTBED": str(folder.parent.parent),
        "LANG": "C.UTF-8",
        "EC2_BED_MACHINE": str(folder),
        "AWS_ENDPOINT_URL": endpoint,
        "AWS_DEFAULT_REGION": instance.region_name,
        "NO_PROXY": "*",
    }


def _write_metadata(root: Path, instance: Any, user_data: bytes) -> None:
    zone = instance.availability_zone
    facts = {
        "instance-id": instance.id,
        "instance-type": instance.instance_type,
        "ami-id": instance.image_id,
        "local-ipv4": instance.private_ip or "",
        "public-ipv4": instance.public_ip or "",
        "local-hostname": instance.private_dns_name or "",
        "placement/availability-zone": zone,
        "placement/region": instance.region_name,
        "instance-life-cycle": instance.lifecycle or "on-demand",
    }
    for tag in instance.get_tags():
        if "/" not in tag["key"]:
            facts[f"tags/instance/{tag['key']}"] = tag["value"]
    for name, value in facts.items():
        _put(root / "meta-data" / name, value)
    _put(root / "user-data", user_data)
    identity = {
        "instanceId": instance.id,
        "region": instance.region_name,
        "availabilityZone": zone,
        "instanceType": instance.instance_type,
        "imageId": instance.image_id,
        "accountId": DEFAULT_ACCOUNT_ID,
    }
    _put(root / "dynamic/instance-identity/document", json.dumps(identity))


def _spawn(
    command: list[str], folder: Path, environment: dict[str, str]
) -> subprocess.Popen[bytes]:
    with (folder / "console.log").open("ab") as console:
        return subprocess.Popen(
            command,
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=console,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )


def _ip(*arguments: str, check: bool = True) -> None:
    subprocess.run(["ip", *arguments], check=check, capture_output=not check)


def _put(file: Path, content: str | bytes) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    new = file.with_name(f".{file.name}.new")
    new.write_bytes(content.encode() if isinstance(content, str) else content)
    new.rename(file)


def _utc(later: timedelta = timedelta()) -> str:
    return (datetime.now(UTC) + later).strftime("%Y-%m-%dT%H:%M:%SZ")
