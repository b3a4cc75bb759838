"""The published formulas of the targets, one document and one number at a time, from the text that was exported.

Elasticsearch and OpenSearch: the plugin's ``model/linear`` and its feature normalizers. Solr: ``LinearModel``,
``MinMaxNormalizer`` and ``StandardNormalizer``. RankLib: ``Linear Regression``. The first three compute in ``float``,
the last in ``double`` over features that are ``float``. What the tools refuse to load is refused here.
"""

import json
import struct


def single(number):
    """A Java ``float``: rounded, or infinite."""
    try:
        return struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return float("inf") if number > 0 else float("-inf")


def of_elasticsearch(text, names, row):
    body = json.loads(text)
    assert set(body) == {"model"}
    assert set(body["model"]) == {"name", "model"}
    model = body["model"]["model"]
    assert model["type"] == "model/linear"
    assert set(model["definition"]) <= set(names), "a feature that the set does not have"
    assert set(model.get("feature_normalizers", {})) <= set(names)
    values = {name: single(value) for name, value in zip(names, row, strict=True)}
    for name, norm in model.get("feature_normalizers", {}).items():
        ((kind, given),) = norm.items()
        if kind == "min_max":
            values[name] = _range_of_plugin(values[name], given)
        else:
            assert kind == "standard"
            mean, deviation = single(given["mean"]), single(given["standard_deviation"])
            assert deviation > 0
            values[name] = single(single(values[name] - mean) / deviation)
    score = 0.0
    for name in names:
        score = single(score + single(single(model["definition"].get(name, 0.0)) * values[name]))
    return score


def _range_of_plugin(value, given):
    """Its parser sets the ends in the order of the text, each against the other or that one's default."""
    minimum, maximum = 2.0**-149, 2.0**127 * (2 - 2.0**-23)
    for key, number in given.items():
        if key == "minimum":
            minimum = single(number)
            assert minimum < maximum
        else:
            maximum = single(number)
            assert maximum > minimum
    return single(single(value - minimum) / single(maximum - minimum))


def of_solr(text, names, row):
    model = json.loads(text)
    assert model["class"] == "org.apache.solr.ltr.model.LinearModel"
    used = [feature["name"] for feature in model["features"]]
    assert used
    assert len(set(used)) == len(used)
    assert set(used) <= set(names), "a feature that the store does not have"
    weights = model["params"]["weights"]
    score = 0.0
    for feature in model["features"]:
        value = single(row[names.index(feature["name"])])
        norm = feature.get("norm")
        if norm is not None:
            given = norm["params"]
            assert all(isinstance(number, str) for number in given.values())
            if norm["class"] == "org.apache.solr.ltr.norm.MinMaxNormalizer":
                low, delta = (
                    single(float(given["min"])),
                    single(single(float(given["max"])) - single(float(given["min"]))),
                )
                assert delta != 0
                value = single(single(value - low) / delta)
            else:
                assert norm["class"] == "org.apache.solr.ltr.norm.StandardNormalizer"
                assert single(float(given["std"])) > 0
                value = single(single(value - single(float(given["avg"]))) / single(float(given["std"])))
        score = single(score + single(value * single(weights[feature["name"]])))
    return score


def of_ranklib(text, row):
    lines = text.encode("ascii").decode().splitlines()
    assert lines[0] == "## Linear Regression"  # by which RankLib knows what to load
    line = next(line.strip() for line in lines if line.strip() and not line.startswith("##"))
    constant, score = 0.0, 0.0
    for pair in line.split(" "):
        key, value = pair.split(":")
        if int(key) > 0:
            score += float(value) * single(row[int(key) - 1])
        else:
            constant = float(value)
    return constant + score


def of_json(text, row):
    model = json.loads(text)
    score = model["intercept"]
    for value, feature in zip(row, model["features"], strict=True):
        score += feature["weight"] * (value - feature["offset"]) / feature["scale"]
    return score
