"""Formats of models of other tools, by the first bytes of a file."""

from __future__ import annotations

ENSEMBLES = ("LambdaMART", "MART", "Random Forests")
LINEAR = ("Linear Regression", "Coordinate Ascent", "AdaRank")
RANKBOOST = "RankBoost"
NOT_READ = ("RankNet", "ListNet", "LambdaRank")
ADVICE = {
    b"CBM1": 'a binary model of CatBoost. Save it as JSON: model.save_model(path, format="json").',
    b"binf": 'an old binary model of XGBoost. Save it as JSON: booster.save_model("model.json").',
    **dict.fromkeys(
        tuple(b"{%c" % kind for kind in b"LiUIl#$"),
        'a binary (UBJSON) model of XGBoost. Save it as JSON: booster.save_model("model.json").',
    ),
    **dict.fromkeys(
        (b"\x80\x03", b"\x80\x04", b"\x80\x05"),
        "a pickle, which runs code when it is loaded. Save the model in the format of its tool.",
    ),
}
_OF_RANKLIB = tuple(f"## {name}".encode() for name in (*ENSEMBLES, *LINEAR, RANKBOOST, *NOT_READ))


def format_of(head: bytes) -> str | None:
    """Return the format of a model of another tool by the first 32 bytes of a file, or more; None for other files.

    It is "lightgbm", "json" or "ranklib", or "advice" for a format that is not read, with an entry in ``ADVICE``.

    Examples
    --------
    >>> format_of(b"## LambdaMART"), format_of(b"2 qid:1 1:0.5")
    ('ranklib', None)
    """
    if head.startswith((b"tree\nversion=", b"tree\r\nversion=")):
        return "lightgbm"
    if head.startswith((*_OF_RANKLIB, b"<ensemble>")):
        return "ranklib"
    if head.removeprefix(b"\xef\xbb\xbf").lstrip().startswith((b'{"', b"{\n", b"{ ", b"{\r", b"{\t")):
        return "json"
    return "advice" if head.startswith(tuple(ADVICE)) else None
