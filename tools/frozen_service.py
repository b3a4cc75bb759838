"""Run an installed ``plackett serve`` in a namespace in which nothing can be written, and check its responses.

    python tools/frozen_service.py ENVIRONMENT MODEL OTHER_MODEL

ENVIRONMENT is a virtual environment with plackett and its ``web`` extra. All file systems are read-only, there is no
HOME, no other program on the PATH, and no root privileges. The service ranks a list, swaps MODEL for OTHER_MODEL, which
is renamed outside of the namespace, and stops. Prints JSON; exits with status 77 if this machine has no namespaces.
"""

from __future__ import annotations

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

NO_NAMESPACES = 77
SECONDS = 60.0  # until an answer, or a swap
USER = 10001
# everything is read-only except for the file systems of the kernel; then root privileges are dropped
FREEZE = f"""
set -e
mount --make-rprivate /
for place in $(cut -d' ' -f2 /proc/mounts | grep -vE '^/(proc|sys|dev)$|^/(proc|sys)/|^/dev/(pts|mqueue)'); do
    mount -o remount,ro,bind "$place"
done
if touch "$1/probe" 2>/dev/null; then echo "files stayed writable" >&2; exit 1; fi
shift
exec unshare --user --map-user={USER} --map-group={USER} "$@"
"""
INSIDE = (
    'echo "user $(/usr/bin/id -u)" >&2; exec /usr/bin/env -i "PATH=$1" "$1/plackett" serve "$2" --port 0 --poll 0.1'
)


def frozen(folder: Path, *command: str) -> list[str]:
    """Return a command in a namespace in which nothing can be written."""
    return ["unshare", "--map-root-user", "--mount", "sh", "-c", FREEZE, "sh", str(folder), *command]


def why_not(folder: Path) -> str | None:
    """Return why this machine cannot run such a command, or None."""
    if shutil.which("unshare") is None:
        return "there is no unshare (Debian: util-linux)"
    tried = subprocess.run(frozen(folder, "true"), capture_output=True, text=True)
    return None if tried.returncode == 0 else f"namespaces are not permitted: {tried.stderr.strip()}"


def served(environment: Path, folder: Path, other: bytes) -> dict:
    """Serve ``shop.plackett`` of the folder, replace it by the other model, and return both answers."""
    begin = time.perf_counter()
    command = frozen(folder, "sh", "-c", INSIDE, "sh", str(environment / "bin"), str(folder / "shop.plackett"))
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stderr is not None
        said = [process.stderr.readline()]
        while not said[-1].startswith("Serving at "):
            said.append(process.stderr.readline())
            if not said[-1]:
                raise SystemExit("the service did not start:\n" + "".join(said))
        connection = http.client.HTTPConnection("127.0.0.1", int(said[-1].split(":")[2].split("/")[0]), timeout=SECONDS)
        n_features = len(_ask(connection, "GET", "/models")["models"][0]["features"])
        body = {"documents": [[(row * column) % 7 / 7 for column in range(1, n_features + 1)] for row in range(1, 9)]}
        first = second = _ask(connection, "POST", "/rank", body)
        seconds = time.perf_counter() - begin
        (folder / "draft").write_bytes(other)
        os.replace(folder / "draft", folder / "shop.plackett")
        deadline = time.monotonic() + SECONDS
        while second["version"] == first["version"]:
            if time.monotonic() > deadline:
                raise SystemExit("the new model was not swapped in")
            second = _ask(connection, "POST", "/rank", body)
        connection.close()
        process.send_signal(signal.SIGTERM)
        rest = process.communicate(timeout=SECONDS)[1]
    finally:
        process.kill()
    answers = {"first": first, "second": second, "documents": body["documents"], "seconds": round(seconds, 3)}
    return {**answers, "user": int(said[0].split()[1]), "status": process.returncode, "log": rest.splitlines()}


def _ask(connection: http.client.HTTPConnection, method: str, path: str, body: dict | None = None) -> dict:
    connection.request(method, path, None if body is None else json.dumps(body))
    response = connection.getresponse()
    content = response.read()
    if response.status != 200:
        raise SystemExit(f"{method} {path}: {response.status} {content.decode()}")
    return json.loads(content)


def main() -> None:
    environment, model, other = map(Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        reason = why_not(folder)
        if reason is not None:
            print(reason, file=sys.stderr)
            sys.exit(NO_NAMESPACES)
        shutil.copy(model, folder / "shop.plackett")
        print(json.dumps(served(environment.resolve(), folder, other.read_bytes())))


if __name__ == "__main__":
    main()
