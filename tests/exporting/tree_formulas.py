"""The published rules for trees, one document and one node at a time, from the text that was exported.

Elasticsearch and OpenSearch: the plugin's ``model/xgboost+json``. Solr: ``MultipleAdditiveTreesModel``. RankLib:
``LambdaMART``. All compute in ``float``. What the tools refuse to load is refused here.
"""

import json
from xml.dom import minidom

from tests.exporting.formulas import single


def of_elasticsearch(text, names, row, missing=()):
    body = json.loads(text)
    model = body["model"]["model"]
    assert model["type"] == "model/xgboost+json"
    assert model["definition"], "it must define at least one tree"
    score = 0.0
    for tree in model["definition"]:
        _check_split(tree, names)
        node = tree
        while "leaf" not in node:
            if node["split"] in missing:
                goes_left = node["missing"] == node["yes"]
            else:
                goes_left = single(node["split_condition"]) > single(row[names.index(node["split"])])
            node = node["children"][0 if goes_left else 1]
        score = single(score + single(node["leaf"]))
    return score


def _check_split(node, names):
    assert isinstance(node["nodeid"], int)
    if "leaf" in node:
        return
    assert set(node) == {"nodeid", "depth", "split", "split_condition", "yes", "no", "missing", "children"}
    assert node["split"] in names, "a feature that the set does not have"
    assert [node["yes"], node["no"]] == [child["nodeid"] for child in node["children"]]
    assert node["missing"] in (node["yes"], node["no"])
    for child in node["children"]:
        _check_split(child, names)


SLACK = single(1e-6)


def of_solr(text, names, row):
    model = json.loads(text)
    assert model["class"] == "org.apache.solr.ltr.model.MultipleAdditiveTreesModel"
    used = [feature["name"] for feature in model["features"]]
    assert used
    assert set(used) <= set(names), "a feature that the store does not have"
    values = {name: single(row[names.index(name)]) for name in used}  # a feature that is not listed would score 0
    score = 0.0
    for tree in model["params"]["trees"]:
        node = tree["root"]
        while "feature" in node:
            threshold = single(single(float(node["threshold"])) + SLACK)
            node = node["left"] if values[node["feature"]] <= threshold else node["right"]
        assert set(node) == {"value"}
        score = single(score + single(single(float(tree["weight"])) * single(float(node["value"]))))
    return score


def of_elastic_ltr(text, names, row):
    """Elasticsearch's ``ensemble`` in ``double``; a missing value is NaN. Fields that its parser lacks are refused."""
    body = json.loads(text)
    assert set(body) == {"description", "definition"}
    ensemble = body["definition"]["trained_model"]["ensemble"]
    assert set(ensemble) == {"feature_names", "trained_models", "aggregate_output", "target_type"}
    assert (ensemble["target_type"], ensemble["aggregate_output"]) == ("regression", {"weighted_sum": {}})
    assert ensemble["trained_models"], "an ensemble must not be empty"
    values = dict(zip(names, row, strict=True))
    score = 0.0
    for model in ensemble["trained_models"]:
        tree = model["tree"]
        assert set(tree) == {"feature_names", "tree_structure", "target_type"}
        assert tree["target_type"] == "regression"
        assert set(tree["feature_names"]) <= set(ensemble["feature_names"])
        nodes = tree["tree_structure"]
        assert [node["node_index"] for node in nodes] == list(range(len(nodes)))
        node = nodes[0]
        while "leaf_value" not in node:
            assert node["decision_type"] == "lte"
            assert {"threshold", "split_feature", "left_child", "right_child", "default_left"} < set(node)
            value = values[tree["feature_names"][node["split_feature"]]]
            goes_left = node["default_left"] if value != value else value <= node["threshold"]
            node = nodes[node["left_child" if goes_left else "right_child"]]
        assert set(node) == {"node_index", "leaf_value"}
        score += node["leaf_value"]
    return score


def of_ranklib(text, row):
    lines = text.encode("ascii").decode().split("\n")
    assert lines[0] == "## LambdaMART"  # by which RankLib knows what to load
    assert lines[-1] == ""  # the last line is read only if it ends
    xml = "".join(line.lstrip("\t") for line in lines if not line.startswith("#"))
    score = 0.0
    for tree in minidom.parseString(xml).getElementsByTagName("tree"):
        node = tree.firstChild  # a tag; space between tags would be a node of its own
        while node.firstChild.nodeName == "feature":
            feature, threshold, left, right = node.childNodes
            value = single(row[int(feature.firstChild.nodeValue) - 1])
            node = left if value <= single(float(threshold.firstChild.nodeValue)) else right
        output = single(float(node.firstChild.firstChild.nodeValue))
        score = single(score + output * single(float(tree.getAttribute("weight"))))
    return score


def of_json(text, row):
    model = json.loads(text)
    assert len(row) == model["n_features"]
    score = model["intercept"]
    for nodes in model["trees"]:
        node = nodes[0]
        while "value" not in node:
            node = nodes[node["left"] if row[node["feature"]] <= node["threshold"] else node["right"]]
        score += node["value"]
    return score


def of_arrays(trees, intercept, row):
    """The rule of ``FlatTrees``, in double precision."""
    score = intercept
    for node in trees.starts_[:-1]:
        while trees.features_[node] >= 0:
            goes_left = row[trees.features_[node]] <= trees.thresholds_[node]
            node = trees.left_[node] if goes_left else trees.right_[node]
        score += trees.values_[node]
    return score
