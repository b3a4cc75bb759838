"""The catalogue of published data sets: sizes, labels, columns, sources and file layouts.

Counts are those of the publications, checked against the files if available; None means "unknown".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import product
from types import MappingProxyType

LETOR_PAGE = "https://www.microsoft.com/en-us/research/project/letor-learning-rank-information-retrieval/"
MSLR_PAGE = "https://www.microsoft.com/en-us/research/project/mslr/"
YAHOO_PAGE = "https://webscope.sandbox.yahoo.com (C14, Learning to Rank Challenge)"
ISTELLA_PAGE = "https://istella.ai/datasets/letor-dataset/"
MOVIELENS_PAGE = "https://grouplens.org/datasets/movielens/100k/"
GLASGOW_PAGE = "http://ir.dcs.gla.ac.uk/resources/test_collections/"

MICROSOFT = "Microsoft Research licence: research use only, not to be passed on."

FIVE_PARTS = ("S1", "S2", "S3", "S4", "S5")
THREE_PARTS = ("train", "validation", "test")


@dataclass(frozen=True)
class DatasetInfo:
    """The description of one version of a data set.

    Attributes
    ----------
    name, version, title : str
        ``version`` is ``""`` where there is but one.
    kind : str
        What ``load`` gives: ``"queries"`` (a Queries), ``"ratings"`` (a Ratings) or ``"text"`` (a TextCollection).
    n_queries, n_docs, n_features : int or None
        ``n_docs`` counts rows, that is pairs of query and document; for ratings, ``n_queries`` counts users and
        ``n_docs`` ratings; for text, ``n_docs`` counts documents.
    label_range : tuple of two numbers, or None
    label_counts : mapping of label to number of rows, or None
    feature_names : tuple of str, or None
        In the order of the columns, where all of them are known.
    columns : mapping of str to int
        Name of a feature -> its number in the file, counted from 1 as LETOR does.
    parts : tuple of str
        Names of the parts that ``load(..., part=)`` knows.
    n_folds : int
        5 for the sets with LETOR's table of folds, 1 for those with a single published split, 0 for none.
    versions : tuple of str
        All versions of the set; the first is the default.
    folders : tuple of str
        Folders the set is looked for in, below the user's folder; their last parts alone will do too.
    source, licence, note : str
        Where to get it, what may be done with it, what to mind.

    Examples
    --------
    >>> import plackett as pk
    >>> dataset = pk.datasets.info("mq2008")
    >>> dataset.kind, dataset.label_range, dataset.parts
    ('queries', (0, 2), ('S1', 'S2', 'S3', 'S4', 'S5'))
    """

    name: str
    title: str
    kind: str
    n_queries: int | None
    n_docs: int | None
    folders: tuple[str, ...]
    source: str
    licence: str
    n_features: int | None = None
    version: str = ""
    label_range: tuple[float, float] | None = None
    label_counts: Mapping[int, int] | None = None
    feature_names: tuple[str, ...] | None = None
    columns: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    parts: tuple[str, ...] = ()
    n_folds: int = 0
    versions: tuple[str, ...] = ("",)
    note: str = ""
    files: Mapping[str, tuple[str, ...]] = field(default_factory=lambda: MappingProxyType({}), repr=False)
    every_row_is_full: bool = field(default=False, repr=False)
    missing_from: float | None = field(default=None, repr=False)

    def __post_init__(self):
        if self.feature_names is not None:
            numbers = {name: number for number, name in enumerate(self.feature_names, 1)}
            object.__setattr__(self, "columns", MappingProxyType(numbers))
            object.__setattr__(self, "n_features", len(numbers))
        if self.label_counts and self.label_range is None:
            object.__setattr__(self, "label_range", (min(self.label_counts), max(self.label_counts)))
        for mapping in ("columns", "label_counts", "files"):
            value = getattr(self, mapping)
            if isinstance(value, dict):
                object.__setattr__(self, mapping, MappingProxyType(value))


def _streams(measures: tuple[str, ...], streams: tuple[str, ...]) -> tuple[str, ...]:
    """``tf_body, tf_anchor, ... idf_body, ...``: measure by measure, stream by stream."""
    return tuple(f"{measure}_{stream}" for measure, stream in product(measures, streams))


WEB_STREAMS = ("body", "anchor", "title", "url", "whole")
WEB_MEASURES = ("tf", "idf", "tfidf", "length", "bm25", "lmir_abs", "lmir_dir", "lmir_jm")

GOV2_FEATURES = (
    *_streams(WEB_MEASURES, WEB_STREAMS),
    *("pagerank", "inlinks", "outlinks", "url_slashes", "url_length", "child_pages"),
)

GOV_FEATURES = (
    *_streams(WEB_MEASURES, WEB_STREAMS),
    *("sitemap_term_propagation", "sitemap_score_propagation"),
    *("score_propagation_weighted_in", "score_propagation_weighted_out", "score_propagation_uniform_out"),
    *("feature_propagation_weighted_in", "feature_propagation_weighted_out", "feature_propagation_uniform_out"),
    *("hits_authority", "hits_hub", "pagerank", "hostrank"),
    *("topical_pagerank", "topical_hits_authority", "topical_hits_hub"),
    *("inlinks", "outlinks", "url_slashes", "url_length", "child_pages"),
    *("bm25_extracted_title", "lmir_abs_extracted_title", "lmir_dir_extracted_title", "lmir_jm_extracted_title"),
)

# L1..L10 and H1..H5 of the LETOR read-me: sums over the query's terms; c = count in the field, C = in the collection
OHSUMED_LOW = (
    *("tf", "log_tf", "normalized_tf", "log_normalized_tf", "idf", "log_idf", "log_inverse_cf"),
    *("log_normalized_tfidf", "tfidf", "log_normalized_tf_inverse_cf"),
)
OHSUMED_HIGH = ("bm25", "log_bm25", "lmir_dir", "lmir_jm", "lmir_abs")

OHSUMED2_FEATURES = (
    *(f"{measure}_title" for measure in OHSUMED_LOW),
    *(f"{measure}_abstract" for measure in OHSUMED_LOW),
    *OHSUMED_HIGH,
)
OHSUMED3_FEATURES = tuple(
    f"{measure}_{stream}" for stream in ("title", "abstract", "whole") for measure in (*OHSUMED_LOW, *OHSUMED_HIGH)
)

MSLR_MEASURES = (
    *("covered_terms", "covered_terms_ratio", "length", "idf"),
    *("tf_sum", "tf_min", "tf_max", "tf_mean", "tf_variance"),
    *("normalized_tf_sum", "normalized_tf_min", "normalized_tf_max", "normalized_tf_mean", "normalized_tf_variance"),
    *("tfidf_sum", "tfidf_min", "tfidf_max", "tfidf_mean", "tfidf_variance"),
    *("boolean", "vector_space", "bm25", "lmir_abs", "lmir_dir", "lmir_jm"),
)
MSLR_FEATURES = (
    *_streams(MSLR_MEASURES, WEB_STREAMS),
    *("url_slashes", "url_length", "inlinks", "outlinks", "pagerank", "siterank", "quality", "quality_2"),
    *("query_url_clicks", "url_clicks", "url_dwell_time"),
)


def _letor(name: str, title: str, **fields) -> DatasetInfo:
    """Return a data set with five parts and the folds of LETOR."""
    part_files = {part: (f"{part}.txt",) for part in FIVE_PARTS}
    defaults = {
        "kind": "queries",
        "source": LETOR_PAGE,
        "licence": MICROSOFT,
        "parts": FIVE_PARTS,
        "n_folds": 5,
        "files": part_files,
        "every_row_is_full": True,
    }
    return DatasetInfo(name, title, **{**defaults, **fields})


def _aggregation(name: str, title: str, **fields) -> DatasetInfo:
    files = {part: (f"A{number}.txt", f"{part}.txt") for number, part in enumerate(FIVE_PARTS, 1)}
    note = "A feature is the rank that one system gave, smaller is better; NaN (NULL in the file) = not retrieved."
    return _letor(name, title, files=files, note=note, **fields)


MQ2007_LABELS = {0: 51_632, 1: 14_128, 2: 3_863}
MQ2008_LABELS = {0: 12_279, 1: 2_001, 2: 931}
LISTWISE = "Labels are a strict order: the larger, the more relevant; about a thousand documents in a query."

LETOR4 = (
    _letor(
        "mq2007",
        "LETOR 4.0 MQ2007, supervised",
        n_queries=1_692,
        n_docs=69_623,
        label_counts=MQ2007_LABELS,
        feature_names=GOV2_FEATURES,
        folders=("MQ2007", "letor4-mq2007"),
    ),
    _letor(
        "mq2008",
        "LETOR 4.0 MQ2008, supervised",
        n_queries=784,
        n_docs=15_211,
        label_counts=MQ2008_LABELS,
        feature_names=GOV2_FEATURES,
        folders=("MQ2008", "letor4-mq2008"),
    ),
    _letor(
        "mq2007-list",
        "LETOR 4.0 MQ2007-list, listwise",
        n_queries=1_692,
        n_docs=1_231_351,
        feature_names=GOV2_FEATURES,
        folders=("MQ2007-list", "letor4-mq2007-list"),
        note=LISTWISE,
    ),
    _letor(
        "mq2008-list",
        "LETOR 4.0 MQ2008-list, listwise",
        n_queries=784,
        n_docs=902_220,
        feature_names=GOV2_FEATURES,
        folders=("MQ2008-list", "letor4-mq2008-list"),
        note=LISTWISE,
    ),
    _aggregation(
        "mq2007-agg",
        "LETOR 4.0 MQ2007-agg, rank aggregation",
        n_queries=1_692,
        n_docs=69_623,
        label_counts=MQ2007_LABELS,
        feature_names=tuple(f"system_{number}" for number in range(1, 22)),
        folders=("MQ2007-agg", "letor4-mq2007-agg"),
    ),
    _aggregation(
        "mq2008-agg",
        "LETOR 4.0 MQ2008-agg, rank aggregation",
        n_queries=784,
        n_docs=15_211,
        label_counts=MQ2008_LABELS,
        feature_names=tuple(f"system_{number}" for number in range(1, 26)),
        folders=("MQ2008-agg", "letor4-mq2008-agg"),
    ),
)

LETOR3_FOLDERS = {"letor3-querylevelnorm": "QueryLevelNorm", "letor3-min": "Feature-min", "letor3-null": "Feature-null"}
LETOR3_NOTES = {
    "letor3-querylevelnorm": "Each column is scaled to 0..1 within its query.",
    "letor3-min": "Raw values; a missing one is the smallest of its query.",
    "letor3-null": "Raw values; a missing one is NaN (NULL in the file): fill it before training.",
}


def _letor2_and_3(name: str, *, letor2: DatasetInfo, letor3: DatasetInfo, folders: tuple[str, ...]) -> tuple:
    """Return LETOR 3.0 in its three normalisations (``{}`` in ``folders``), then LETOR 2.0."""
    versions = (*LETOR3_FOLDERS, "letor2")
    third = (
        replace(
            letor3,
            version=version,
            versions=versions,
            folders=tuple(pattern.format(normalised) for pattern in folders),
            note=LETOR3_NOTES[version],
        )
        for version, normalised in LETOR3_FOLDERS.items()
    )
    return (*third, replace(letor2, version="letor2", versions=versions))


def _ohsumed() -> tuple[DatasetInfo, ...]:
    fields = {
        "n_queries": 106,
        "n_docs": 16_140,
        "label_counts": {0: 11_303, 1: 2_585, 2: 2_252},
    }
    letor2 = _letor(
        "ohsumed",
        "LETOR 2.0 OHSUMED",
        feature_names=OHSUMED2_FEATURES,
        folders=("OHSUMED/Data", "letor2-ohsumed"),
        note="Raw values. The last five columns are of title and abstract together; BM25 is column 21.",
        **fields,
    )
    letor3 = _letor("ohsumed", "LETOR 3.0 OHSUMED", feature_names=OHSUMED3_FEATURES, folders=(), **fields)
    return _letor2_and_3("ohsumed", letor2=letor2, letor3=letor3, folders=("OHSUMED/{}", "letor3-ohsumed/{}"))


def _topic_distillation(year: int, n_queries: int, n_docs_2: int, n_docs_3: int) -> tuple[DatasetInfo, ...]:
    name = f"td{year}"
    letor2 = _letor(
        name,
        f"LETOR 2.0 TD{year} (TREC {year}, topic distillation)",
        n_queries=n_queries,
        n_docs=n_docs_2,
        n_features=44,
        label_range=(0, 1),
        columns={"bm25": 16},  # from papers that used it; the other names are unknown
        folders=(f"TD{year}/Data", f"letor2-td{year}"),
        note="44 columns in another order than LETOR 3.0's 64: BM25 is column 16.",
    )
    letor3 = _letor(
        name,
        f"LETOR 3.0 TD{year} (.gov collection, topic distillation)",
        n_queries=n_queries,
        n_docs=n_docs_3,
        label_range=(0, 1),
        feature_names=GOV_FEATURES,
        folders=(),
    )
    folders = (f"Gov/{{}}/{year}_td_dataset", f"TD{year}/{{}}", f"letor3-td{year}/{{}}")
    return _letor2_and_3(name, letor2=letor2, letor3=letor3, folders=folders)


MSLR = (
    _letor(
        "mslr-web10k",
        "MSLR-WEB10K",
        n_queries=10_000,
        n_docs=1_200_192,
        label_counts={0: 624_263, 1: 386_280, 2: 159_451, 3: 21_317, 4: 8_881},
        feature_names=MSLR_FEATURES,
        folders=("MSLR-WEB10K", "mslr-web10k"),
        source=MSLR_PAGE,
    ),
    _letor(
        "mslr-web30k",
        "MSLR-WEB30K",
        n_queries=31_531,
        n_docs=3_771_125,
        label_counts={0: 1_940_952, 1: 1_225_770, 2: 504_958, 3: 69_010, 4: 30_435},
        feature_names=MSLR_FEATURES,
        folders=("MSLR-WEB30K", "mslr-web30k"),
        source=MSLR_PAGE,
    ),
    DatasetInfo(
        "mslr-sample",
        "MSLR-WEB10K, the first 5,000 rows of fold 1's training and test files",
        kind="queries",
        n_queries=86,
        n_docs=10_000,
        label_counts={0: 5_639, 1: 2_900, 2: 1_244, 3: 153, 4: 64},
        feature_names=MSLR_FEATURES,
        parts=("train", "test"),
        files={"train": ("msn1.fold1.train.5k.txt",), "test": ("msn1.fold1.test.5k.txt",)},
        folders=("mslr-sample", "rankeval/test/data"),
        source="the source distribution of rankeval 0.8.2 on PyPI (rankeval/test/data)",
        licence=MICROSOFT,
        note="The last query of each part may be cut off.",
        every_row_is_full=True,
    ),
)


def _yahoo(version: str, n_queries: int, n_docs: int, label_counts: dict[int, int] | None) -> DatasetInfo:
    return DatasetInfo(
        "yahoo",
        f"Yahoo! Learning to Rank Challenge, {version.replace('set', 'set ')}",
        kind="queries",
        version=version,
        versions=("set1", "set2"),
        n_queries=n_queries,
        n_docs=n_docs,
        n_features=700,
        label_range=(0, 4),
        label_counts=label_counts,
        parts=THREE_PARTS,
        n_folds=1,
        files={
            "train": (f"{version}.train.txt",),
            "validation": (f"{version}.valid.txt",),
            "test": (f"{version}.test.txt",),
        },
        folders=("ltrc_yahoo", "Yahoo", "yahoo"),
        source=YAHOO_PAGE,
        licence="Yahoo! Webscope agreement: research use by universities, not to be passed on.",
        note=f"Of the 700 columns {'519' if version == 'set1' else '596'} are used in this set; zeros are not written.",
    )


ISTELLA_FILES = {
    "train": ("train.txt",),
    "validation": ("vali.txt", "valid.txt"),
    "test": ("test.txt",),
}

OTHERS = (
    _yahoo("set1", 29_921, 709_877, {0: 185_192, 1: 254_110, 2: 202_700, 3: 54_473, 4: 13_402}),
    _yahoo("set2", 6_330, 172_870, None),
    DatasetInfo(
        "istella-s",
        "Istella-S LETOR",
        kind="queries",
        n_queries=33_018,
        n_docs=3_408_630,
        n_features=220,
        label_range=(0, 4),
        parts=THREE_PARTS,
        n_folds=1,
        files=ISTELLA_FILES,
        folders=("istella-s-letor/sample", "istella-s/sample", "istella-s-letor", "istella-s", "sample"),
        source=ISTELLA_PAGE,
        licence="Istella LETOR licence: non-commercial research use.",
        note="A missing value (1.8e308 in the file) is NaN: fill it before training.",
        missing_from=1e300,
    ),
    DatasetInfo(
        "movielens-100k",
        "MovieLens 100k",
        kind="ratings",
        n_queries=943,
        n_docs=100_000,
        label_counts={1: 6_110, 2: 11_370, 3: 27_145, 4: 34_174, 5: 21_201},
        files={"ratings": ("u.data",)},
        folders=("movielens-100k", "ml-100k"),
        source=MOVIELENS_PAGE,
        licence="GroupLens: research use, acknowledged, no commercial use, not to be passed on.",
        note="1,682 items.",
    ),
)


def _text(name: str, title: str, files: tuple[str, ...], **fields) -> DatasetInfo:
    return DatasetInfo(
        name,
        title,
        kind="text",
        files={"documents": files},
        folders=(f"ir-classic/{name}", name),
        source=GLASGOW_PAGE,
        licence="Distributed for research for decades; no licence file.",
        **fields,
    )


TEXT = (
    _text(
        "cranfield",
        "Cranfield: abstracts on aerodynamics",
        ("cran.all.1400", "cran.all"),
        n_queries=225,
        n_docs=1_400,
        label_counts={4: 128 + 225, 3: 387, 2: 734, 1: 363},
        note="1,837 judged pairs; label = 5 - code, and code -1 (one per query) counts as 4.",
    ),
    _text(
        "cisi",
        "CISI: abstracts on information science",
        ("CISI.ALL",),
        n_queries=112,
        n_docs=1_460,
        label_counts={1: 3_114},
        note="76 of the queries are judged.",
    ),
    _text(
        "cacm",
        "CACM: Communications of the ACM, 1958-1979",
        ("cacm.all",),
        n_queries=64,
        n_docs=3_204,
        label_counts={1: 796},
        note="52 of the queries are judged; 1,587 documents have an abstract. Abstracts (c) ACM.",
    ),
    _text(
        "adi",
        "ADI: documents on documentation",
        ("ADI.ALL",),
        n_queries=35,
        n_docs=82,
        label_counts={1: 170},
    ),
)

CATALOGUE: tuple[DatasetInfo, ...] = (
    *LETOR4,
    *_ohsumed(),
    *_topic_distillation(2003, 50, 49_171, 49_058),
    *_topic_distillation(2004, 75, 74_170, 74_146),
    *MSLR,
    *OTHERS,
    *TEXT,
)
