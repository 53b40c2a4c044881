"""The task runners compared, by name."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from peers import recipes
from peers.recipes import Recipe
from peers.sources import PYTHON, OfDebian, OfPython, OfTheSystem, Source


@dataclass(frozen=True)
class Peer:
    title: str
    source: Source
    recipe: Recipe
    elsewhere: bool = True  # it can use other computers, as BaTS does
    most: int = 10_000  # tasks that it is asked for in a measurement


_PARALLEL: Final = OfDebian(
    "p/parallel/parallel_20240222+ds-2_all.deb",
    "eb31b7482e76d3aee62917d2f9a474663679390f29abc227ed59ee05b1edc675",
)
_SPOOLER: Final = OfDebian(
    "t/task-spooler/task-spooler_1.0.3+dfsg1-1_amd64.deb",
    "2df72be9e428a6b25eaf4e23c1dbdc1037ba539260e7cce1ea7c97bd85351207",
)
_XARGS: Final = ("xargs", "-P2", "-d", "\n", "-n1", "/bin/sh", "-c")
_HYPERSHELL: Final = (
    PYTHON, "-c", "import sys; from hypershell import main; sys.exit(main())",
    "cluster", "-", "-N2", "-w1", "--no-db", "-b50",
)  # fmt: skip
_PARALLEL_2: Final = ("parallel", "--will-cite", "-j2")

XARGS: Final = Peer("xargs -P2", OfTheSystem("xargs"), recipes.of_lines(*_XARGS), elsewhere=False)
PEERS: Final[Mapping[str, Peer]] = {
    "xargs": XARGS,
    "make": Peer("make -j2", OfTheSystem("make"), recipes.make, elsewhere=False),
    "task-spooler": Peer("task-spooler", _SPOOLER, recipes.spooler, elsewhere=False, most=1_000),
    "joblib": Peer("joblib", OfPython("joblib"), recipes.of_python("joblib"), elsewhere=False),
    "parallel": Peer("GNU parallel", _PARALLEL, recipes.of_lines(*_PARALLEL_2)),
    "parallel-u": Peer(
        "GNU parallel, outputs mixed", _PARALLEL, recipes.of_lines(*_PARALLEL_2, "-u")
    ),
    "hyperqueue": Peer(
        "HyperQueue, no outputs", OfPython("hyperqueue"), recipes.of_python("hyperqueue")
    ),
    "hyperqueue-files": Peer(
        "HyperQueue", OfPython("hyperqueue"), recipes.of_python("hyperqueue", "files")
    ),
    "hypershell": Peer(
        "HyperShell, bundles of 50",
        OfPython("hypershell"),
        recipes.of_lines(*_HYPERSHELL),
        most=2_000,
    ),
    "dask": Peer("Dask", OfPython("distributed"), recipes.of_python("dask")),
    "dask-ahead": Peer(
        "Dask, all sent ahead", OfPython("distributed"), recipes.of_python("dask", "ahead")
    ),
    "parsl": Peer("Parsl", OfPython("parsl"), recipes.of_python("parsl")),
    "parsl-ahead": Peer(
        "Parsl, 32 sent ahead", OfPython("parsl"), recipes.of_python("parsl", "ahead")
    ),
    "ray": Peer("Ray", OfPython("ray"), recipes.of_python("ray")),
    "snakemake": Peer("Snakemake", OfPython("snakemake"), recipes.snakemake, most=500),
}
