"""Prices as EC2 tells them: the Pricing API (moto has none), a spot history (moto's is constant).

STATE/prices.json overrides: {"t3.large": {"ondemand": 0.08, "spot": 0.03, "spot:us-east-1b": 0.02}}
"""

import json
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from moto.ec2.models.instance_types import INSTANCE_TYPE_OFFERINGS, INSTANCE_TYPES


class Prices:
    def __init__(self, file: Path) -> None:
        self.file = file

    def overrides(self, kind: str) -> dict[str, float]:
        if not self.file.exists():
            return {}
        return json.loads(self.file.read_text()).get(kind, {})  # type: ignore[no-any-return]

    def on_demand(self, kind: str) -> float:
        """Dollars per hour; roughly by size where nothing else is said."""
        info = INSTANCE_TYPES.get(kind, {})
        cpus = info.get("VCpuInfo", {}).get("DefaultVCpus", 1)
        gib = info.get("MemoryInfo", {}).get("SizeInMiB", 1024) / 1024
        return self.overrides(kind).get("ondemand", round(0.03 * cpus + 0.004 * gib, 4))

    def spot(self, kind: str, zone: str) -> float:
        over = self.overrides(kind)
        usual = self.on_demand(kind) * (0.30 + 0.03 * (ord(zone[-1]) - ord("a")))
        return round(over.get(f"spot:{zone}", over.get("spot", usual)), 4)

    def spot_history(self, form: dict[str, str], region: str) -> str:
        kinds = _values(form, "InstanceType", "instance-type")
        zones = _values(form, "AvailabilityZone", "availability-zone")
        product = (_values(form, "ProductDescription", "product-description") or ["Linux/UNIX"])[0]
        offered = INSTANCE_TYPE_OFFERINGS["availability-zone"].get(region, [])
        rows = sorted(
            (o["InstanceType"], o["Location"])
            for o in offered
            if (not kinds or o["InstanceType"] in kinds) and (not zones or o["Location"] in zones)
        )
        first, size = int(form.get("NextToken") or 0), int(form.get("MaxResults") or 1000)
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        items = "".join(
            f"<item><instanceType>{kind}</instanceType>"
            f"<productDescription>{product}</productDescription>"
            f"<spotPrice>{self.spot(kind, zone):.6f}</spotPrice><timestamp>{now}</timestamp>"
            f"<availabilityZone>{zone}</availabilityZone></item>"
            for kind, zone in rows[first : first + size]
        )
        more = str(first + size) if len(rows) > first + size else ""
        return (
            '<?xml version="1.0"?><DescribeSpotPriceHistoryResponse '
            'xmlns="http://ec2.amazonaws.com/doc/2016-11-15/">'
            f"<requestId>{uuid.uuid4()}</requestId>"
            f"<spotPriceHistorySet>{items}</spotPriceHistorySet>"
            f"<nextToken>{more}</nextToken></DescribeSpotPriceHistoryResponse>"
        )

    def pricing_api(self, call: str, asked: dict[str, Any]) -> dict[str, Any]:
        """GetProducts, the one call of the Pricing API that is used."""
        if call != "GetProducts":
            return {"FormatVersion": "aws_v1"}
        wanted = {f["Field"]: f["Value"] for f in asked.get("Filters", [])}
        region = wanted.get("regionCode") or wanted.get("location") or "us-east-1"
        kinds = [wanted["instanceType"]] if "instanceType" in wanted else sorted(INSTANCE_TYPES)
        rows = [self._product(kind, region) for kind in kinds if kind in INSTANCE_TYPES]
        rows = [r for r in rows if wanted.items() <= r["product"]["attributes"].items()]
        first, size = int(asked.get("NextToken") or 0), int(asked.get("MaxResults") or 100)
        more = {"NextToken": str(first + size)} if len(rows) > first + size else {}
        listed = [json.dumps(row) for row in rows[first : first + size]]
        return {"FormatVersion": "aws_v1", "PriceList": listed, **more}

    def _product(self, kind: str, region: str) -> dict[str, Any]:
        info = INSTANCE_TYPES[kind]
        sku = uuid.uuid5(uuid.NAMESPACE_DNS, f"{kind}.{region}").hex[:16].upper()
        term, rate = f"{sku}.JRTCKXETXF", f"{sku}.JRTCKXETXF.6YS6EN2CT7"
        attributes = {
            "instanceType": kind,
            "regionCode": region,
            "location": region,
            "locationType": "AWS Region",
            "vcpu": str(info["VCpuInfo"]["DefaultVCpus"]),
            "memory": f"{info['MemoryInfo']['SizeInMiB'] / 1024:g} GiB",
            "operatingSystem": "Linux",
            "tenancy": "Shared",
            "capacitystatus": "Used",
            "preInstalledSw": "NA",
            "licenseModel": "No License required",
            "marketoption": "OnDemand",
            "servicecode": "AmazonEC2",
            "operation": "RunInstances",
            "usagetype": f"BoxUsage:{kind}",
        }
        dimension = {
            "unit": "Hrs",
            "rateCode": rate,
            "beginRange": "0",
            "endRange": "Inf",
            "appliesTo": [],
            "description": f"per On Demand Linux {kind} Instance Hour",
            "pricePerUnit": {"USD": f"{self.on_demand(kind):.10f}"},
        }
        offer = {
            "sku": sku,
            "offerTermCode": "JRTCKXETXF",
            "effectiveDate": "2020-01-01T00:00:00Z",
            "termAttributes": {},
            "priceDimensions": {rate: dimension},
        }
        return {
            "serviceCode": "AmazonEC2",
            "version": "1",
            "publicationDate": "2020-01-01T00:00:00Z",
            "product": {"productFamily": "Compute Instance", "sku": sku, "attributes": attributes},
            "terms": {"OnDemand": {term: offer}},
        }


def _values(form: dict[str, str], parameter: str, filter_name: str) -> list[str]:
    """The values of a list parameter, or of the filter of that name, in a query-API form."""
    values = [v for k, v in form.items() if k == parameter or k.startswith(f"{parameter}.")]
    for key, name in form.items():
        if name == filter_name and key.startswith("Filter.") and key.endswith(".Name"):
            prefix = key.removesuffix("Name") + "Value."
            values += [v for k, v in form.items() if k.startswith(prefix)]
    return values
