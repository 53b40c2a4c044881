"""Calls of Amazon's API; each of them waits, so it is made in a thread."""

import re
import threading
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any, Final

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from bats.common.messages import MachineId
from bats.common.records import dataclass
from bats.deploy.ec2 import prices
from bats.deploy.ec2.aws_errors import code_of
from bats.deploy.ec2.user_data import readable
from bats.deploy.protocol import Price

AT_ONCE: Final = 8  # requests
URL_SECONDS: Final = 3600  # in which an instance has fetched the worker
USER: Final = re.compile(r"[a-z_][a-z0-9_-]{0,31}")
ENDED_AT: Final = re.compile(r"\((\d{4}-\d\d-\d\d \d\d:\d\d:\d\d) (?:GMT|UTC)\)")


@dataclass(frozen=True, slots=True)
class Settings:
    image: str  # an AMI, with Python 3.11 or later unless `worker` says otherwise
    instance_type: str
    region: str = ""  # "": the one your AWS configuration names
    profile: str = ""  # of your AWS configuration
    subnet: str = ""
    security_groups: tuple[str, ...] = ()  # their ids
    key_name: str = ""  # to look at instances by ssh; we need none
    spot: bool = False
    max_spot_price: str = ""  # dollars per hour; "": up to the on-demand price
    setup: tuple[str, ...] = ()  # shell lines, as root, before the worker is started
    user: str = "bats"  # runs the worker and its tasks; made if it is not there
    worker: tuple[str, ...] = ()  # starts the worker, if the image or `setup` brings it
    bucket: str = ""  # else: of S3, where instances fetch the worker; we put it there

    def __post_init__(self) -> None:
        if not (self.worker or self.bucket):
            raise ValueError(
                "say how instances get the worker: `bucket`, a bucket of S3 that we may write to, "
                'or `worker`, the command that starts it in your image: ["/opt/bats/bin/python", '
                '"-m", "bats.worker"].'
            )
        if not USER.fullmatch(self.user):
            raise ValueError(
                f"`user` should be the name of a user of the image, not {self.user!r}."
            )
        if self.max_spot_price and not self.spot:
            raise ValueError("`max_spot_price` goes with `spot = true`.")


@dataclass(frozen=True, slots=True)
class Instance:
    """An instance as Amazon tells it; times are Amazon's, so that our clock may be wrong."""

    id: str
    state: str
    ip: str
    charged_seconds: float | None
    reason_code: str
    reason: str

    @property
    def address(self) -> str:
        return f"{self.id} at {self.ip}" if self.ip else self.id


class Account:
    def __init__(self, settings: Settings, tags: Mapping[str, str]) -> None:
        self._settings = settings
        self._tags = tags
        self._connecting = threading.Lock()
        self._connected: tuple[Any, Any] | None = None

    def check(self) -> None:
        """Raises unless an instance could be asked for."""
        ec2 = self._ec2()
        ec2.describe_images(ImageIds=[self._settings.image])
        ec2.describe_instance_types(InstanceTypes=[self._settings.instance_type])
        try:
            ec2.run_instances(MinCount=1, MaxCount=1, DryRun=True, **self._wanted())
        except ClientError as error:
            if code_of(error) != "DryRunOperation":  # what "it would have worked" is called
                raise

    def price(self) -> Price:
        session, ec2 = self._connect()
        kind = self._settings.instance_type
        if self._settings.spot:
            return prices.spot(ec2, kind)
        return prices.on_demand(session, kind, self.region())

    def region(self) -> str:
        return str(self._ec2().meta.region_name)

    def run(self, machine: MachineId, user_data: bytes) -> Instance:
        """Start an instance. Asked again with the same machine, it gives the one started before."""
        tags = {**self._tags, "bats:machine": str(machine), "Name": f"bats-{machine}"}
        listed = [{"Key": key, "Value": value} for key, value in tags.items()]
        kinds = ("instance", "volume")
        answer = self._ec2().run_instances(
            MinCount=1,
            MaxCount=1,
            UserData=user_data,
            ClientToken=f"bats-{self._tags['bats:master']}-{machine}"[-64:],
            TagSpecifications=[{"ResourceType": kind, "Tags": listed} for kind in kinds],
            **self._wanted(),
        )
        return _instance(answer["Instances"][0], _now(answer))

    def instances(self) -> Mapping[MachineId, Instance]:
        """All with our tags; those that ended are told for an hour or so."""
        filters = [{"Name": f"tag:{key}", "Values": [tag]} for key, tag in self._tags.items()]
        found = {}
        for page in self._ec2().get_paginator("describe_instances").paginate(Filters=filters):
            for told in (told for r in page["Reservations"] for told in r["Instances"]):
                tags = {tag["Key"]: tag["Value"] for tag in told.get("Tags", [])}
                if tags.get("bats:machine", "").isdigit():
                    found[MachineId(int(tags["bats:machine"]))] = _instance(told, _now(page))
        return found

    def interrupted(self, instances: Iterable[str]) -> set[str]:
        """Instances that Amazon has said it takes away in some two minutes."""
        wanted = {"instance-id": list(instances), "status-code": ["marked-for-termination"]}
        if not self._settings.spot or not wanted["instance-id"]:
            return set()
        filters = [{"Name": name, "Values": values} for name, values in wanted.items()]
        answer = self._ec2().describe_spot_instance_requests(Filters=filters)
        return {request["InstanceId"] for request in answer["SpotInstanceRequests"]}

    def terminate(self, instances: Iterable[str]) -> None:
        for instance in sorted(instances):  # one by one: one that is forgotten fails them all
            try:
                self._ec2().terminate_instances(InstanceIds=[instance])
            except ClientError as error:
                if code_of(error) != "InvalidInstanceID.NotFound":
                    raise

    def console(self, instance: str) -> str:
        try:
            answer = self._ec2().get_console_output(InstanceId=instance, Latest=True)
        except ClientError:  # only some types have the latest
            answer = self._ec2().get_console_output(InstanceId=instance)
        return readable(answer.get("Output", ""))

    def put(self, name: str, data: bytes) -> None:
        self._s3().put_object(Bucket=self._settings.bucket, Key=name, Body=data)

    def url(self, name: str) -> str:
        """An address from which anybody who has it can fetch what was put there, for an hour."""
        where = {"Bucket": self._settings.bucket, "Key": name}
        signed = self._s3().generate_presigned_url(
            "get_object", Params=where, ExpiresIn=URL_SECONDS
        )
        return str(signed)

    def _wanted(self) -> dict[str, Any]:
        given = self._settings
        optional: dict[str, Any] = {
            "SubnetId": given.subnet,
            "SecurityGroupIds": list(given.security_groups),
            "KeyName": given.key_name,
        }
        if given.spot:
            options = {
                "SpotInstanceType": "one-time",
                "InstanceInterruptionBehavior": "terminate",
                **({"MaxPrice": given.max_spot_price} if given.max_spot_price else {}),
            }
            optional["InstanceMarketOptions"] = {"MarketType": "spot", "SpotOptions": options}
        return {
            "ImageId": given.image,
            "InstanceType": given.instance_type,
            "InstanceInitiatedShutdownBehavior": "terminate",
            # A task's request that somebody else has made up (a redirect, a proxy) gets no token.
            "MetadataOptions": {"HttpTokens": "required", "HttpPutResponseHopLimit": 1},
            **{name: value for name, value in optional.items() if value},
        }

    def _ec2(self) -> Any:
        return self._connect()[1]

    def _s3(self) -> Any:
        return self._connect()[0].client("s3")

    def _connect(self) -> tuple[Any, Any]:
        """A session and its EC2 client, made once: it takes a while, and is safe to share."""
        with self._connecting:
            if self._connected is None:
                given = self._settings
                session = boto3.Session(
                    profile_name=given.profile or None, region_name=given.region or None
                )
                config = Config(
                    retries={"mode": "standard", "max_attempts": 3},
                    connect_timeout=10,
                    read_timeout=60,
                    max_pool_connections=AT_ONCE,
                )
                self._connected = session, session.client("ec2", config=config)
            return self._connected


def _instance(told: Mapping[str, Any], now: datetime) -> Instance:
    state, reason = told["State"]["Name"], told.get("StateReason", {})
    launched: datetime = told["LaunchTime"]
    until: datetime | None = now
    if state == "pending":  # charged from "running" on
        until = None
    elif state == "terminated":
        until = _ended_at(told.get("StateTransitionReason", ""))
    return Instance(
        id=told["InstanceId"],
        state=state,
        ip=told.get("PublicIpAddress") or told.get("PrivateIpAddress") or "",
        charged_seconds=max(0.0, (until - launched).total_seconds()) if until else None,
        reason_code=reason.get("Code", ""),
        reason=reason.get("Message", ""),
    )


def _now(answer: Mapping[str, Any]) -> datetime:
    stamp = answer["ResponseMetadata"]["HTTPHeaders"].get("date")
    return parsedate_to_datetime(stamp) if stamp else datetime.now(UTC)


def _ended_at(transition: str) -> datetime | None:
    found = ENDED_AT.search(transition)
    return datetime.fromisoformat(found[1]).replace(tzinfo=UTC) if found else None
