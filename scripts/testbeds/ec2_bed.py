"""The EC2 test bed's one process: moto's API with what it lacks in front, and machines behind it.

ec2_bed.py STATE PORT ADDRESS... [MOTO's own settings in the environment]; started by `ec2 up`.
"""

import os
import signal
import sys
import threading
import traceback
from pathlib import Path

from ec2_api import Api
from ec2_machines import Machines, NamespaceHost, ProcessHost
from moto.server import MotoRequestHandler
from werkzeug.serving import make_server


def main() -> None:
    state, port, addresses = Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:]
    os.environ["MOTO_PORT"] = str(port)
    lock = threading.RLock()  # no machine is looked at while a request changes it
    api = Api(state, lock)
    for address in addresses:
        server = make_server(address, port, api, threaded=True, request_handler=MotoRequestHandler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
    endpoint = f"http://{addresses[-1]}:{port}"  # the machines' side of the bridge, if there is one
    host = NamespaceHost if os.environ["BOOT"] == "netns" else ProcessHost
    machines = Machines(state, host(state, endpoint), lock, float(os.environ["BOOT_DELAY"]))
    ended = threading.Event()
    signal.signal(signal.SIGTERM, lambda *_: ended.set())
    (state / "run" / "ready").touch()
    while not ended.wait(0.1):
        try:
            machines.step()
        except Exception:  # one machine that cannot boot must not end the others
            traceback.print_exc()
    machines.halt_all()
    os._exit(0)  # in order, it would take down all that moto remembers, for seconds


if __name__ == "__main__":
    main()
