"""Print the files of plackett that a row passes: when it is read, learned from, scored and evaluated."""

import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

os.environ["PLACKETT_NUM_THREADS"] = "1"  # a profile function sees one thread

import plackett as pk

PACKAGE = str(Path(pk.__file__).parent)


def files_of(work: Callable[[], object]) -> list[str]:
    """Return the files whose functions were called, in the order of their first call."""
    found: dict[str, None] = {}

    def note(frame, event, argument):
        path = frame.f_code.co_filename
        if event == "call" and path.startswith(PACKAGE) and frame.f_code.co_name != "<module>":
            found[os.path.relpath(path, PACKAGE)] = None

    work()  # imports are not part of the walk
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return list(found)


def main() -> None:
    """Print the walk of a small data set, step by step."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "lists.txt")
        pk.write_letor(pk.datasets.make_web_like(8, 10, 5, random_state=0), path)
        data = pk.read_letor(path)
        ranker = pk.LinearRanker().fit(data)
        scores = ranker.predict(data)
        steps = {
            "read_letor": lambda: pk.read_letor(path),
            "fit": lambda: pk.LinearRanker().fit(data),
            "predict": lambda: ranker.predict(data),
            "evaluate": lambda: pk.evaluate(data, scores, metrics="ndcg@10"),
        }
        for name, work in steps.items():
            files = files_of(work)
            print(f"{name} ({len(files)} files): {', '.join(files)}")


if __name__ == "__main__":
    main()
