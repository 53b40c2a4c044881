"""Amazon's prices now: the Price List for on-demand, the history for spot."""

import json
from datetime import UTC, datetime
from typing import Any, Final

from bats.common.money import money
from bats.deploy.protocol import Price, RefusedError

PRICING_REGION: Final = "us-east-1"  # the Price List is served from few regions, for all
PRODUCT: Final = "Linux/UNIX"


def on_demand(session: Any, kind: str, region: str) -> Price:
    wanted = {
        "instanceType": kind,
        "regionCode": region,
        "operatingSystem": "Linux",
        "tenancy": "Shared",
        "capacitystatus": "Used",
        "preInstalledSw": "NA",
    }
    filters = [{"Type": "TERM_MATCH", "Field": f, "Value": v} for f, v in wanted.items()]
    client = session.client("pricing", region_name=PRICING_REGION)
    found = client.get_products(ServiceCode="AmazonEC2", Filters=filters)["PriceList"]
    amounts = [
        money(dimension["pricePerUnit"]["USD"][:11])  # billionths are all we keep
        for product in map(json.loads, found)
        for term in product["terms"].get("OnDemand", {}).values()
        for dimension in term["priceDimensions"].values()
        if dimension["unit"] == "Hrs"
    ]
    if not amounts:
        raise RefusedError(f"Amazon lists no price of {kind} in {region}.")
    return Price(max(amounts), datetime.now(UTC).date(), "Price List")


def spot(ec2: Any, kind: str, zone: str = "") -> Price:
    """The highest of the zones' latest prices, unless a zone is named: we may get any."""
    where = {"AvailabilityZone": zone} if zone else {}
    rows = ec2.describe_spot_price_history(
        InstanceTypes=[kind], ProductDescriptions=[PRODUCT], StartTime=datetime.now(UTC), **where
    )["SpotPriceHistory"]
    if not rows:
        raise RefusedError(f"Amazon gives no spot price of {kind} there.")
    dearest = max(rows, key=lambda row: money(row["SpotPrice"]))
    source = f"spot price history, {dearest['AvailabilityZone']}"
    return Price(money(dearest["SpotPrice"]), datetime.now(UTC).date(), source)
