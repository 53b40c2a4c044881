"""Amazon's refusals: those that pass by themselves, and how all are said to the user."""

from typing import Final

from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    HTTPClientError,
    NoCredentialsError,
    NoRegionError,
    PartialCredentialsError,
)
from botocore.exceptions import (
    ConnectionError as BotoConnectionError,
)

from bats.deploy.protocol import BusyError, RefusedError

PASSING: Final = {
    "InsufficientInstanceCapacity",
    "InsufficientHostCapacity",
    "InsufficientReservedInstanceCapacity",
    "InsufficientFreeAddressesInSubnet",
    "InstanceLimitExceeded",  # the account's other machines end some day
    "VcpuLimitExceeded",
    "MaxSpotInstanceCountExceeded",
    "SpotMaxPriceTooLow",
    "RequestLimitExceeded",
    "Throttling",
    "ThrottlingException",
    "InternalError",
    "InternalFailure",
    "ServiceUnavailable",
    "Unavailable",
    "RequestExpired",
}


def code_of(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def backend_error(error: ClientError | BotoCoreError) -> BusyError | RefusedError:
    if isinstance(error, ClientError):
        said = f"{code_of(error)}: {error.response.get('Error', {}).get('Message', '')}".rstrip(".")
        if code_of(error) in PASSING:
            return BusyError(f"Amazon has nothing to give now ({said}).")
        return RefusedError(f"Amazon refuses ({said}). Correct the offering's table.")
    if isinstance(error, NoCredentialsError | PartialCredentialsError):
        return RefusedError(
            "There are no AWS credentials here; run `aws configure`, or set `profile`."
        )
    if isinstance(error, NoRegionError):
        return RefusedError("No AWS region is named; set `region` in the offering's table.")
    if isinstance(error, BotoConnectionError | HTTPClientError):
        return BusyError(f"Amazon cannot be reached: {error}")
    return RefusedError(f"The AWS SDK refuses: {error}")
