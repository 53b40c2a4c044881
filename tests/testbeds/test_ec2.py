"""The EC2 bed boots what the API starts: user data runs, crashes and interruptions are real."""

import json
from pathlib import Path
from typing import Any

import boto3
import pytest
from helpers.beds import Bed
from helpers.waiting import until

pytestmark = pytest.mark.backend("ec2")
HELLO = "#!/bin/bash\necho hello from $(hostname)\nexec sleep 999\n"


@pytest.fixture(params=["ec2_bed", "ec2_netns_bed"])
def cloud(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Bed:
    bed: Bed = request.getfixturevalue(request.param)
    bed.enter(monkeypatch)
    return bed


def run(bed: Bed, user_data: str = HELLO, **more: Any) -> list[str]:
    asked = {"MinCount": 1, "MaxCount": 1, "InstanceType": "t3.large"} | more
    answer = boto3.client("ec2").run_instances(
        ImageId=bed.environment["BATS_EC2_AMI"], UserData=user_data, **asked
    )
    return [instance["InstanceId"] for instance in answer["Instances"]]


def state(instance: str) -> str:
    answer = boto3.client("ec2").describe_instances(InstanceIds=[instance])
    return str(answer["Reservations"][0]["Instances"][0]["State"]["Name"])


def machine(bed: Bed, instance: str) -> Path:
    return bed.state / "i" / instance


def console(bed: Bed, instance: str) -> str:
    file = machine(bed, instance) / "console.log"
    return file.read_text() if file.exists() else ""


def test_every_instance_runs_its_user_data_until_it_is_terminated(cloud: Bed) -> None:
    instances = run(cloud, MaxCount=3)
    assert len(instances) == 3
    until(lambda: all("hello" in console(cloud, i) for i in instances))
    boto3.client("ec2").terminate_instances(InstanceIds=instances)
    until(lambda: not any((machine(cloud, i) / "pid").exists() for i in instances))


def test_a_machine_that_shuts_itself_down_is_terminated_if_it_asked_for_that(cloud: Bed) -> None:
    [instance] = run(
        cloud, "#!/bin/bash\nshutdown -h now\n", InstanceInitiatedShutdownBehavior="terminate"
    )
    until(lambda: state(instance) == "terminated")


def test_a_machine_that_crashes_is_running_for_all_the_api_knows(cloud: Bed) -> None:
    [instance] = run(cloud)
    until(lambda: "hello" in console(cloud, instance))
    (machine(cloud, instance) / "crash").touch()
    until(lambda: not (machine(cloud, instance) / "pid").exists())
    assert state(instance) == "running"
    boto3.client("ec2").terminate_instances(InstanceIds=[instance])


def test_a_spot_interruption_is_announced_in_the_metadata_and_then_happens(cloud: Bed) -> None:
    watch = """#!/bin/bash
    root=${AWS_EC2_METADATA_SERVICE_ENDPOINT:-http://169.254.169.254/}
    notice=${root}latest/meta-data/spot/instance-action
    until curl -sf --noproxy '*' $notice; do sleep 0.1; done
    """
    [instance] = run(cloud, watch, InstanceMarketOptions={"MarketType": "spot"})
    until((machine(cloud, instance) / "pid").exists)
    (machine(cloud, instance) / "interrupt").write_text("2")
    until(lambda: '"action": "terminate"' in console(cloud, instance))
    until(lambda: state(instance) == "terminated")
    answer = boto3.client("ec2").describe_instances(InstanceIds=[instance])
    reason = answer["Reservations"][0]["Instances"][0]["StateReason"]["Code"]
    assert reason == "Server.SpotInstanceTermination"


def test_a_request_repeated_with_its_token_starts_nothing_new(cloud: Bed) -> None:
    first = run(cloud, ClientToken="once", MaxCount=2)
    assert run(cloud, ClientToken="once", MaxCount=2) == first
    boto3.client("ec2").terminate_instances(InstanceIds=first)


def test_errors_can_be_injected(cloud: Bed) -> None:
    fault = {
        "action": "RunInstances",
        "code": "VcpuLimitExceeded",
        "match": {"InstanceType": "p4*"},
    }
    (cloud.state / "faults.json").write_text(json.dumps([fault]))
    with pytest.raises(boto3.client("ec2").exceptions.ClientError, match="VcpuLimitExceeded"):
        run(cloud, InstanceType="p4d.24xlarge")
    (cloud.state / "faults.json").unlink()


def test_prices_can_be_looked_up(cloud: Bed) -> None:
    (cloud.state / "prices.json").write_text('{"t3.large": {"ondemand": 0.08, "spot": 0.02}}')
    found = boto3.client("pricing").get_products(
        ServiceCode="AmazonEC2",
        Filters=[{"Type": "TERM_MATCH", "Field": "instanceType", "Value": "t3.large"}],
    )
    assert '"0.0800000000"' in found["PriceList"][0]
    spot = boto3.client("ec2").describe_spot_price_history(InstanceTypes=["t3.large"])
    assert {row["SpotPrice"] for row in spot["SpotPriceHistory"]} == {"0.020000"}
