"""A master in a process of its own, so that tests can kill it; options come as JSON."""

import asyncio
import json
import sys
from pathlib import Path

from bats.common.capacity.pool_rules import Pool
from bats.common.log import set_up_logging
from bats.common.offering import Offering
from bats.master.service.master import Master, serve
from bats.master.service.options import Options


def main() -> None:
    set_up_logging("json")
    told = json.loads(sys.argv[1])
    offerings = tuple(Offering(**one) for one in told.pop("offerings", ()))
    pools = tuple(
        Pool(**{**one, "kinds": tuple(Offering(**kind) for kind in one["kinds"])})
        for one in told.pop("pools", ())
    )
    options = Options(**{**told, "state": Path(told["state"])}, offerings=offerings, pools=pools)

    def ready(_: Master) -> None:
        print("ready", flush=True)

    asyncio.run(serve(options, ready))


if __name__ == "__main__":
    main()
