"""plackett: learning to rank.

Train rankers from judged lists, refine a ranking you already have, compare rankers honestly, put the best one to work.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False  # type checkers know the name; importing typing for it would take most of the time of this module
if TYPE_CHECKING:  # what a type checker and an editor see; at run time each name is loaded when it is first used
    from plackett import exceptions as exceptions
    from plackett import losses as losses
    from plackett import metrics as metrics
    from plackett import solvers as solvers
    from plackett import text as text
    from plackett.data import datasets as datasets
    from plackett.data.feedback import Feedback as Feedback
    from plackett.data.feedback_log import read_feedback as read_feedback
    from plackett.data.frames import from_frame as from_frame
    from plackett.data.frames import to_frame as to_frame
    from plackett.data.letor import read_letor as read_letor
    from plackett.data.letor import write_letor as write_letor
    from plackett.data.movielens import read_movielens as read_movielens
    from plackett.data.movielens import read_movies as read_movies
    from plackett.data.normalize import QueryMinMax as QueryMinMax
    from plackett.data.normalize import QueryRank as QueryRank
    from plackett.data.normalize import QueryUnitLength as QueryUnitLength
    from plackett.data.normalize import QueryZScore as QueryZScore
    from plackett.data.parquet import read_parquet as read_parquet
    from plackett.data.parquet import write_parquet as write_parquet
    from plackett.data.queries import Queries as Queries
    from plackett.data.score_file import read_scores as read_scores
    from plackett.data.trec import Qrels as Qrels
    from plackett.data.trec import Run as Run
    from plackett.data.trec import read_qrels as read_qrels
    from plackett.data.trec import read_trec_run as read_trec_run
    from plackett.data.trec import write_qrels as write_qrels
    from plackett.data.trec import write_trec_run as write_trec_run
    from plackett.evaluation.compare import compare as compare
    from plackett.evaluation.cross_validate import cross_validate as cross_validate
    from plackett.evaluation.evaluate import evaluate as evaluate
    from plackett.evaluation.evaluate import evaluate_every_convention as evaluate_every_convention
    from plackett.evaluation.feedback import relevance_feedback as relevance_feedback
    from plackett.evaluation.grids import default_grid as default_grid
    from plackett.evaluation.letor_folds import LetorFolds as LetorFolds
    from plackett.evaluation.recommendation import recommendation as recommendation
    from plackett.evaluation.select import select as select
    from plackett.evaluation.splits import QueryKFold as QueryKFold
    from plackett.exports.targets import export as export
    from plackett.metrics.measure import Measure as Measure
    from plackett.rankers.adarank import AdaRank as AdaRank
    from plackett.rankers.base_score import as_base_score as as_base_score
    from plackett.rankers.diff_rank import DiffRank as DiffRank
    from plackett.rankers.feature_rank import BLFeatureRank as BLFeatureRank
    from plackett.rankers.feature_rank import FeatureRank as FeatureRank
    from plackett.rankers.kept_judgements import keep_judged as keep_judged
    from plackett.rankers.kernel import KernelRanker as KernelRanker
    from plackett.rankers.lambdarank import LightGBMRanker as LightGBMRanker
    from plackett.rankers.linear import LinearRanker as LinearRanker
    from plackett.rankers.neural import NeuralRanker as NeuralRanker
    from plackett.rankers.other_trees import CatBoostRanker as CatBoostRanker
    from plackett.rankers.other_trees import XGBoostRanker as XGBoostRanker
    from plackett.rankers.personality import PersonalityDiagnosis as PersonalityDiagnosis
    from plackett.rankers.prank import PRank as PRank
    from plackett.rankers.query_dependent import QueryDependentRanker as QueryDependentRanker
    from plackett.rankers.rankboost import RankBoost as RankBoost
    from plackett.rankers.recommend import recommend as recommend
    from plackett.rankers.refinement import LinearRefiner as LinearRefiner
    from plackett.rankers.refinement import MultiplicativeRefiner as MultiplicativeRefiner
    from plackett.rankers.registry import load as load
    from plackett.rankers.registry import ranker as ranker
    from plackett.rankers.registry import ranker_names as ranker_names
    from plackett.rankers.rocchio import RocchioRefiner as RocchioRefiner
    from plackett.rankers.svm_map import SVMMap as SVMMap
    from plackett.rankers.trees import TreeRanker as TreeRanker
    from plackett.report.html import write_report as write_report

__version__ = "0.1.0"

# public name -> module that holds it, or the module itself where that bears the name
_HOME = {
    "Queries": "plackett.data.queries",
    "read_letor": "plackett.data.letor",
    "write_letor": "plackett.data.letor",
    "read_parquet": "plackett.data.parquet",
    "write_parquet": "plackett.data.parquet",
    "Qrels": "plackett.data.trec",
    "Run": "plackett.data.trec",
    "read_qrels": "plackett.data.trec",
    "read_trec_run": "plackett.data.trec",
    "write_qrels": "plackett.data.trec",
    "write_trec_run": "plackett.data.trec",
    "from_frame": "plackett.data.frames",
    "to_frame": "plackett.data.frames",
    "read_movielens": "plackett.data.movielens",
    "read_movies": "plackett.data.movielens",
    "Feedback": "plackett.data.feedback",
    "read_feedback": "plackett.data.feedback_log",
    "read_scores": "plackett.data.score_file",
    "datasets": "plackett.data.datasets",
    "QueryMinMax": "plackett.data.normalize",
    "QueryZScore": "plackett.data.normalize",
    "QueryUnitLength": "plackett.data.normalize",
    "QueryRank": "plackett.data.normalize",
    "metrics": "plackett.metrics",
    "Measure": "plackett.metrics.measure",
    "losses": "plackett.losses",
    "solvers": "plackett.solvers",
    "LinearRanker": "plackett.rankers.linear",
    "KernelRanker": "plackett.rankers.kernel",
    "FeatureRank": "plackett.rankers.feature_rank",
    "BLFeatureRank": "plackett.rankers.feature_rank",
    "DiffRank": "plackett.rankers.diff_rank",
    "AdaRank": "plackett.rankers.adarank",
    "RankBoost": "plackett.rankers.rankboost",
    "PRank": "plackett.rankers.prank",
    "SVMMap": "plackett.rankers.svm_map",
    "QueryDependentRanker": "plackett.rankers.query_dependent",
    "NeuralRanker": "plackett.rankers.neural",
    "TreeRanker": "plackett.rankers.trees",
    "LightGBMRanker": "plackett.rankers.lambdarank",
    "XGBoostRanker": "plackett.rankers.other_trees",
    "CatBoostRanker": "plackett.rankers.other_trees",
    "PersonalityDiagnosis": "plackett.rankers.personality",
    "recommend": "plackett.rankers.recommend",
    "MultiplicativeRefiner": "plackett.rankers.refinement",
    "LinearRefiner": "plackett.rankers.refinement",
    "RocchioRefiner": "plackett.rankers.rocchio",
    "as_base_score": "plackett.rankers.base_score",
    "keep_judged": "plackett.rankers.kept_judgements",
    "ranker": "plackett.rankers.registry",
    "ranker_names": "plackett.rankers.registry",
    "load": "plackett.rankers.registry",
    "evaluate": "plackett.evaluation.evaluate",
    "select": "plackett.evaluation.select",
    "default_grid": "plackett.evaluation.grids",
    "compare": "plackett.evaluation.compare",
    "cross_validate": "plackett.evaluation.cross_validate",
    "evaluate_every_convention": "plackett.evaluation.evaluate",
    "QueryKFold": "plackett.evaluation.splits",
    "LetorFolds": "plackett.evaluation.letor_folds",
    "export": "plackett.exports.targets",
    "write_report": "plackett.report.html",
    "relevance_feedback": "plackett.evaluation.feedback",
    "recommendation": "plackett.evaluation.recommendation",
    "text": "plackett.text",
    "exceptions": "plackett.exceptions",
}

__all__ = ["__version__", *_HOME]


def __getattr__(name: str):
    home = _HOME.get(name)
    if home is None:
        raise AttributeError(f"module 'plackett' has no attribute {name!r}")
    module = importlib.import_module(home)
    value = module if home.rpartition(".")[2] == name and not hasattr(module, name) else getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOME])
