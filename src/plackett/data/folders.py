"""Finding files of published data sets: names in any case, compressed or not."""

from __future__ import annotations

from pathlib import Path

SUFFIXES = ("", ".gz", ".xz", ".zst", ".bz2")


def find_folder(root: Path, relative: str) -> Path | None:
    """The folder ``relative`` below ``root``, its parts in any case, or None; ``""`` is the root itself."""
    place: Path | None = root if root.is_dir() else None
    for part in Path(relative).parts:
        place = None if place is None else _entry(place, part, folders=True)
    return place


def find_file(folder: Path, relative: str) -> Path | None:
    """The file ``relative`` below ``folder``, its parts in any case, plain or compressed, or None."""
    *parents, name = Path(relative).parts
    place = find_folder(folder, "/".join(parents))
    if place is None:
        return None
    found = (_entry(place, name + suffix, folders=False) for suffix in SUFFIXES)
    return next((path for path in found if path is not None), None)


def _entry(folder: Path, name: str, *, folders: bool) -> Path | None:
    def fits(path: Path) -> bool:
        return path.is_dir() if folders else path.is_file()

    if fits(folder / name):
        return folder / name
    alike = sorted(path for path in folder.iterdir() if path.name.lower() == name.lower() and fits(path))
    return alike[0] if alike else None
