from __future__ import annotations

import gzip
import warnings
from pathlib import Path

import numpy as np
import pytest

from plackett.data import datasets
from plackett.data.letor.read import read_letor
from plackett.exceptions import DataFormatError, DatasetNotFoundError, DataWarning

NAMED_IN_THE_ISSUE = {
    *("mq2007", "mq2008", "mq2007-list", "mq2008-list", "ohsumed", "td2003", "td2004", "mslr-web10k", "mslr-web30k"),
    *("yahoo", "istella-s", "movielens-100k", "cranfield", "cisi", "cacm"),
}

# as verified for the files of the shared folder: queries, rows, features, label histogram
AT_HAND = {
    ("mq2008", None): (784, 15_211, 46, [12_279, 2_001, 931]),
    ("mq2008-agg", None): (784, 15_211, 25, [12_279, 2_001, 931]),
    ("ohsumed", "letor3-querylevelnorm"): (106, 16_140, 45, [11_303, 2_585, 2_252]),
    ("ohsumed", "letor3-min"): (106, 16_140, 45, [11_303, 2_585, 2_252]),
    ("ohsumed", "letor3-null"): (106, 16_140, 45, [11_303, 2_585, 2_252]),
    ("ohsumed", "letor2"): (106, 16_140, 25, [11_303, 2_585, 2_252]),
    ("mslr-sample", None): (86, 10_000, 136, [5_639, 2_900, 1_244, 153, 64]),
    ("clueweb09-letor", None): (61, 26_646, 42, [21_808, 3_274, 1_242, 172, 150]),
}
# rows and queries of S1..S5
PARTS_OF_MQ2008 = [(2933, 157), (3635, 157), (3062, 157), (2707, 157), (2874, 156)]

LETOR_TABLE = {  # as printed in LETOR's read-me
    1: (("S1", "S2", "S3"), "S4", "S5"),
    2: (("S2", "S3", "S4"), "S5", "S1"),
    3: (("S3", "S4", "S5"), "S1", "S2"),
    4: (("S4", "S5", "S1"), "S2", "S3"),
    5: (("S5", "S1", "S2"), "S3", "S4"),
}


@pytest.fixture(autouse=True)
def _no_folder_from_outside(monkeypatch, request):
    if "shared_data" in request.fixturenames:
        request.getfixturevalue("shared_data")  # it may come from the variable
    monkeypatch.delenv("PLACKETT_DATA", raising=False)


def test_every_set_that_was_promised_is_known():
    assert set(datasets.names()) >= NAMED_IN_THE_ISSUE


@pytest.mark.parametrize("name", datasets.names())
def test_facts_of_a_set_agree_with_each_other(name):
    for version in datasets.info(name).versions:
        facts = datasets.info(name, version=version)
        assert (facts.name, facts.version) == (name, version)
        if facts.feature_names is not None:
            assert len(set(facts.feature_names)) == facts.n_features
        if facts.label_counts is not None and facts.kind != "text":
            assert sum(facts.label_counts.values()) == facts.n_docs
        if facts.label_counts is not None:
            assert (min(facts.label_counts), max(facts.label_counts)) == facts.label_range
        assert facts.folders
        assert facts.source
        assert facts.licence


@pytest.mark.parametrize(
    ("name", "version", "column", "number"),
    [
        ("ohsumed", "letor2", "bm25", 21),
        ("ohsumed", "letor2", "log_inverse_cf_title", 7),
        ("ohsumed", "letor2", "tf_abstract", 11),
        ("ohsumed", "letor3-min", "bm25_whole", 41),
        ("mq2008", None, "bm25_body", 21),
        ("mq2007-list", None, "lmir_jm_whole", 40),
        ("mq2007", None, "child_pages", 46),
        ("td2003", "letor2", "bm25", 16),
        ("td2004", None, "bm25_whole", 25),
        ("td2004", None, "hostrank", 52),
        ("td2004", None, "lmir_jm_extracted_title", 64),
        ("mslr-web10k", None, "bm25_whole", 110),
        ("mslr-web30k", None, "pagerank", 130),
        ("mslr-web30k", None, "url_dwell_time", 136),
    ],
)
def test_columns_are_numbered_as_published(name, version, column, number):
    assert datasets.info(name, version=version).columns[column] == number


def test_unknown_names_and_versions_are_answered_with_the_known_ones():
    with pytest.raises(ValueError, match="name='mq2009' is not known; choose one of 'mq2007', 'mq2008'"):
        datasets.info("mq2009")
    with pytest.raises(ValueError, match=r"ohsumed version='letor9' is not known; .*'letor2'"):
        datasets.load("ohsumed", version="letor9")


@pytest.mark.parametrize("fold", LETOR_TABLE)
def test_folds_follow_letors_table(fold):
    assert datasets.fold_parts(fold) == LETOR_TABLE[fold]


def test_there_is_no_sixth_fold():
    with pytest.raises(ValueError, match="fold=6 is not known; choose one of 1, 2, 3, 4, 5"):
        datasets.fold_parts(6)


# real files


@pytest.mark.parametrize(("name", "version"), AT_HAND)
def test_sets_at_hand_have_their_published_counts(name, version, shared_data):
    n_queries, n_docs, n_features, histogram = AT_HAND[name, version]
    queries = datasets.load(name, shared_data, version=version)
    assert (queries.n_queries, queries.n_docs, queries.n_features) == (n_queries, n_docs, n_features)
    assert np.bincount(queries.y.astype(int)).tolist() == histogram
    facts = datasets.info(name, version=version)
    assert (facts.n_queries, facts.n_docs, facts.n_features) == (n_queries, n_docs, n_features)
    assert [facts.label_counts[label] for label in range(len(histogram))] == histogram
    assert queries.feature_names == (None if facts.feature_names is None else list(facts.feature_names))


def test_folds_of_clueweb_test_on_the_published_part_and_validate_on_another(shared_data, tmp_path):
    (tmp_path / "ClueWeb09").mkdir()
    for number in range(1, 6):  # as in the repository, and not compressed
        text = gzip.decompress((shared_data / "clueweb09-letor" / f"Fold{number}.test.txt.gz").read_bytes())
        (tmp_path / "ClueWeb09" / f"Fold{number}").mkdir()
        (tmp_path / "ClueWeb09" / f"Fold{number}" / "test.txt").write_bytes(text)
    parts = []
    for number in range(1, 6):
        fold = datasets.load_fold("clueweb09-letor", number, shared_data)
        published = read_letor(shared_data / "clueweb09-letor" / f"Fold{number}.test.txt.gz")
        np.testing.assert_array_equal(fold.test.X, published.X)
        assert fold.test.docid[0].startswith("clueweb09-en")
        ids = [set(queries.ids.tolist()) for queries in fold]
        assert sum(map(len, ids)) == len(set.union(*ids)) == 61
        parts.append(ids[2])
        unpacked = datasets.load_fold("clueweb09-letor", number, tmp_path)
        assert [set(queries.ids.tolist()) for queries in unpacked] == ids
    assert len(set.union(*parts)) == 61


def test_movielens_has_its_published_counts(shared_data):
    ratings = datasets.load("movielens-100k", shared_data)
    assert (ratings.user.size, ratings.users.size, ratings.items.size) == (100_000, 943, 1_682)
    assert np.bincount(ratings.rating.astype(int)).tolist() == [0, 6_110, 11_370, 27_145, 34_174, 21_201]


@pytest.mark.parametrize("name", ["cranfield", "cisi", "cacm", "adi"])
def test_text_collections_have_the_counts_of_the_catalogue(name, shared_data):
    collection, facts = datasets.load(name, shared_data), datasets.info(name)
    assert (collection.n_queries, collection.n_docs) == (facts.n_queries, facts.n_docs)
    labels, counts = np.unique(collection.qrels.labels, return_counts=True)
    assert dict(zip(labels, counts, strict=True)) == facts.label_counts


def test_parts_of_mq2008_have_their_published_counts(shared_data):
    for number, (n_docs, n_queries) in enumerate(PARTS_OF_MQ2008, 1):
        part = datasets.load("mq2008", shared_data, part=f"S{number}")
        assert (part.n_docs, part.n_queries) == (n_docs, n_queries)


def test_a_fold_of_mq2008_is_made_of_its_parts(shared_data):
    fold = datasets.load_fold("mq2008", 4, shared_data)
    in_table = [datasets.load("mq2008", shared_data, part=part) for part in ("S4", "S5", "S1", "S2", "S3")]
    assert fold.train.ids.tolist() == [key for part in in_table[:3] for key in part.ids]
    np.testing.assert_array_equal(fold.validation.X, in_table[3].X)
    np.testing.assert_array_equal(fold.test.y, in_table[4].y)


def test_null_means_not_a_number(shared_data):
    raw = datasets.load("ohsumed", shared_data, version="letor3-null")
    assert np.isnan(raw.X).sum() == 51_490
    ranks = datasets.load("mq2008-agg", shared_data)
    assert np.isnan(ranks.X).mean() == pytest.approx(0.65, abs=0.01)


def test_columns_named_idf_are_constant_within_the_queries_of_mslr(shared_data):
    queries = datasets.load("mslr-sample", shared_data)
    spans = [np.ptp(query.X, axis=0) for query in queries]
    constant = np.flatnonzero(np.max(spans, axis=0) == 0)
    assert {queries.feature_names[column] for column in constant} == {
        f"idf_{stream}" for stream in ("body", "anchor", "title", "url", "whole")
    }


@pytest.mark.parametrize("measure", ["tf", "log_tf", "idf", "tfidf", "log_normalized_tf_inverse_cf"])
@pytest.mark.parametrize("stream", ["title", "abstract"])
def test_both_editions_of_ohsumed_agree_on_columns_of_the_same_name(measure, stream, shared_data):
    old = datasets.load("ohsumed", shared_data, version="letor2")
    new = datasets.load("ohsumed", shared_data, version="letor3-min").subset(old.ids)
    assert _correlation(old, f"{measure}_{stream}", new, f"{measure}_{stream}") > 0.9


def test_both_editions_of_ohsumed_agree_on_bm25(shared_data):
    old = datasets.load("ohsumed", shared_data, version="letor2")
    new = datasets.load("ohsumed", shared_data, version="letor3-min").subset(old.ids)
    assert _correlation(old, "bm25", new, "bm25_whole") > 0.9


def test_both_editions_of_ohsumed_order_the_language_models_alike(shared_data):
    """Each of the three smoothings is closest to its namesake, query by query."""
    old = datasets.load("ohsumed", shared_data, version="letor2")
    new = datasets.load("ohsumed", shared_data, version="letor3-null").subset(old.ids)
    names = ("lmir_dir", "lmir_jm", "lmir_abs")
    likeness = np.mean([_rank_correlations(*pair, names) for pair in zip(old, new, strict=True)], axis=0)
    assert likeness.argmax(axis=1).tolist() == [0, 1, 2]


def _rank_correlations(old, new, names):
    one = old.X[np.argsort(old.docid)][:, [old.feature_names.index(name) for name in names]]
    other = new.X[np.argsort(new.docid)][:, [new.feature_names.index(f"{name}_whole") for name in names]]
    kept = np.isfinite(other).all(axis=1)  # NULL: the document has none of the query's words
    ranks = [table[kept].argsort(axis=0).argsort(axis=0) for table in (one, other)]
    return np.corrcoef(*ranks, rowvar=False)[:3, 3:]


def _correlation(one, column, other, other_column):
    def by_document(queries, name):
        values = queries.X[:, queries.feature_names.index(name)]
        return dict(zip(zip(queries.qid, queries.docid, strict=True), values, strict=True))

    first, second = by_document(one, column), by_document(other, other_column)
    assert first.keys() == second.keys()
    return np.corrcoef([(first[pair], second[pair]) for pair in first], rowvar=False)[0, 1]


# made-up files in published layouts


def write_rows(path: Path, qid: int, n_features: int, *, label: int = 1) -> None:
    features = " ".join(f"{column}:{qid + column / 1000:.3f}" for column in range(1, n_features + 1))
    text = f"{label} qid:{qid} {features} #docid = D{qid}\n".encode()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(gzip.compress(text) if path.suffix == ".gz" else text)


def write_folds(folder: Path, names: tuple[str, str, str], n_features: int) -> None:
    """Five folds; part S1 is query 1, and so on."""
    for fold, (train, validation, test) in LETOR_TABLE.items():
        for name, parts in zip(names, (train, (validation,), (test,)), strict=True):
            path = folder / f"Fold{fold}" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            text = ""
            for part in parts:
                write_rows(path, int(part[1]), n_features)
                text += path.read_text(encoding="utf-8")
            path.write_text(text)


def load_quietly(*args, **kwargs):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # the made-up sets are far smaller than the real ones
        return datasets.load(*args, **kwargs)


LETOR4_NAMES = ("train.txt", "vali.txt", "test.txt")
LETOR3_NAMES = ("trainingset.txt", "validationset.txt", "testset.txt")
LAYOUTS = [
    ("mq2007", None, "MQ2007", LETOR4_NAMES, 46),
    ("mq2008", None, "MQ2008", LETOR4_NAMES, 46),
    ("mq2008", None, "mq2008", LETOR4_NAMES, 46),
    ("mq2007-list", None, "MQ2007-list", LETOR4_NAMES, 46),
    ("mq2008-list", None, "MQ2008-list", LETOR4_NAMES, 46),
    ("mq2007-agg", None, "MQ2007-agg", LETOR4_NAMES, 21),
    ("ohsumed", None, "OHSUMED/QueryLevelNorm", LETOR3_NAMES, 45),
    ("ohsumed", "letor3-min", "OHSUMED/Feature-min", LETOR4_NAMES, 45),
    ("ohsumed", "letor2", "OHSUMED/Data", LETOR3_NAMES, 25),
    ("td2003", None, "Gov/QueryLevelNorm/2003_td_dataset", LETOR3_NAMES, 64),
    ("td2004", "letor3-null", "Gov/Feature-null/2004_td_dataset", LETOR4_NAMES, 64),
    ("td2004", "letor2", "TD2004/Data", LETOR3_NAMES, 44),
    ("mslr-web10k", None, "MSLR-WEB10K", LETOR4_NAMES, 136),
    ("mslr-web30k", None, "MSLR-WEB30K", LETOR4_NAMES, 136),
]


@pytest.mark.parametrize(("name", "version", "folder", "names", "n_features"), LAYOUTS)
def test_published_folds_are_found(name, version, folder, names, n_features, tmp_path):
    write_folds(tmp_path / folder, names, n_features)
    whole = load_quietly(name, tmp_path, version=version)
    assert whole.ids.tolist() == [1, 2, 3, 4, 5]
    assert whole.n_features == n_features
    assert datasets.load(name, tmp_path, version=version, part="S3").ids.tolist() == [3]
    for fold, (train, validation, test) in LETOR_TABLE.items():
        loaded = datasets.load_fold(name, fold, tmp_path, version=version)
        assert [f"S{key}" for key in loaded.train.ids] == list(train)
        assert [f"S{key}" for key in loaded.validation.ids] == [validation]
        assert [f"S{key}" for key in loaded.test.ids] == [test]


@pytest.mark.parametrize(("name", "version", "folder", "names", "n_features"), LAYOUTS)
def test_the_sets_own_folder_and_the_variable_will_do_too(
    name, version, folder, names, n_features, tmp_path, monkeypatch
):
    write_folds(tmp_path / folder, names, n_features)
    assert load_quietly(name, tmp_path / folder, version=version).n_queries == 5
    assert load_quietly(name, tmp_path / Path(folder).parts[0], version=version).n_queries == 5
    monkeypatch.setenv("PLACKETT_DATA", str(tmp_path))
    assert load_quietly(name, version=version).n_queries == 5


@pytest.mark.parametrize("pattern", ["S{}.txt", "S{}.txt.gz", "s{}.TXT"])
def test_parts_are_found_plain_compressed_and_in_any_case(pattern, tmp_path):
    for number in range(1, 6):
        write_rows(tmp_path / "MQ2008" / pattern.format(number), number, 46)
    assert load_quietly("mq2008", tmp_path).ids.tolist() == [1, 2, 3, 4, 5]
    assert datasets.load_fold("mq2008", 3, tmp_path).train.ids.tolist() == [3, 4, 5]


def test_one_fold_holds_the_whole_set(tmp_path):
    write_folds(tmp_path / "all", LETOR4_NAMES, 136)
    (tmp_path / "MSLR-WEB10K").mkdir()
    (tmp_path / "all" / "Fold2").rename(tmp_path / "MSLR-WEB10K" / "Fold2")
    whole = load_quietly("mslr-web10k", tmp_path)
    assert sorted(whole.ids.tolist()) == [1, 2, 3, 4, 5]
    assert datasets.load_fold("mslr-web10k", 2, tmp_path).test.ids.tolist() == [1]
    with pytest.raises(DatasetNotFoundError):
        datasets.load_fold("mslr-web10k", 1, tmp_path)


@pytest.mark.parametrize("version", ["set1", "set2"])
def test_yahoo_has_one_split_and_700_columns_even_where_zeros_are_not_written(version, tmp_path):
    folder = tmp_path / "ltrc_yahoo"
    for qid, part in enumerate(("train", "valid", "test"), 1):
        write_rows(folder / f"{version}.{part}.txt", qid, 9)
    fold = datasets.load_fold("yahoo", 1, tmp_path, version=version)
    assert [queries.ids.tolist() for queries in fold] == [[1], [2], [3]]
    assert fold.train.n_features == 700
    assert datasets.load("yahoo", folder, version=version, part="validation").ids.tolist() == [2]
    with pytest.raises(ValueError, match="fold of yahoo=2 is not known; choose one of 1"):
        datasets.load_fold("yahoo", 2, tmp_path)


def test_istella_reads_its_mark_for_missing_values_as_nan(tmp_path):
    for qid, part in enumerate(("train", "vali", "test"), 1):
        write_rows(tmp_path / "sample" / f"{part}.txt", qid, 220)
    train = tmp_path / "sample" / "train.txt"
    train.write_text(train.read_text(encoding="utf-8").replace(" 7:1.007 ", " 7:1.79769313486231570e+308 "))
    fold = datasets.load_fold("istella-s", 1, tmp_path)
    assert np.flatnonzero(np.isnan(fold.train.X[0])).tolist() == [6]
    assert fold.train.X.dtype == np.float32
    assert np.isfinite(fold.test.X).all()


def test_a_set_with_other_counts_than_published_warns(tmp_path):
    write_folds(tmp_path / "MQ2008", LETOR4_NAMES, 46)
    with pytest.warns(DataWarning, match="mq2008 has 5 queries instead of 784 and 5 rows instead of 15,211"):
        datasets.load("mq2008", tmp_path)


def test_the_wrong_version_in_a_folder_is_noticed_by_its_columns(tmp_path):
    for number in range(1, 6):
        write_rows(tmp_path / f"S{number}.txt", number, 25)
    with pytest.raises(DataFormatError, match=r"25 features, but ohsumed .* has 45\. Try version='letor2'\."):
        datasets.load("ohsumed", tmp_path)


# what is not there


@pytest.mark.parametrize("name", datasets.names())
def test_a_missing_set_says_where_it_was_sought_where_to_get_it_and_where_to_put_it(name, tmp_path):
    facts = datasets.info(name)
    with pytest.raises(DatasetNotFoundError) as caught:
        datasets.load(name, tmp_path)
    message = str(caught.value)
    assert message.startswith(name)
    assert f"Get it from {facts.source} and copy its files to {tmp_path / facts.folders[0]}" in message
    assert all(str(tmp_path / folder) in message for folder in facts.folders)
    assert isinstance(caught.value, FileNotFoundError)


def test_without_any_folder_the_message_names_the_variable():
    with pytest.raises(DatasetNotFoundError, match="no folder was given and PLACKETT_DATA is not set"):
        datasets.load("mq2007")


def test_a_folder_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DatasetNotFoundError, match="nowhere is not a folder"):
        datasets.load("mq2007", tmp_path / "nowhere")


def test_a_missing_version_points_to_one_that_is_there(tmp_path):
    for number in range(1, 6):
        write_rows(tmp_path / "letor2-ohsumed" / f"S{number}.txt", number, 25)
    with pytest.raises(DatasetNotFoundError, match="version='letor2' is available"):
        datasets.load("ohsumed", tmp_path)


def test_the_variable_never_takes_another_sets_files(tmp_path, monkeypatch):
    for number in range(1, 6):
        write_rows(tmp_path / f"S{number}.txt", number, 46)  # of whatever set: the folder holds many
    monkeypatch.setenv("PLACKETT_DATA", str(tmp_path))
    with pytest.raises(DatasetNotFoundError):
        datasets.load("mq2008")


def test_sets_without_folds_or_parts_say_so(tmp_path):
    with pytest.raises(ValueError, match="cranfield has no published folds"):
        datasets.load_fold("cranfield", 1, tmp_path)
    with pytest.raises(ValueError, match="cacm is not divided into parts"):
        datasets.load("cacm", tmp_path, part="S1")
    with pytest.raises(ValueError, match="mq2008 part='S9' is not known; choose one of 'S1'"):
        datasets.load("mq2008", tmp_path, part="S9")
