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
    from plackett.data.feedback.feedback import Feedback as Feedback
    from plackett.data.feedback.log import read_feedback as read_feedback
    from plackett.data.feedback.movielens import read_movielens as read_movielens
    from plackett.data.feedback.movielens import read_movies as read_movies
    from plackett.data.frames import from_frame as from_frame
    from plackett.data.frames import to_frame as to_frame
    from plackett.data.letor.read import read_letor as read_letor
    from plackett.data.letor.read import write_letor as write_letor
    from plackett.data.parquet.read import read_parquet as read_parquet
    from plackett.data.parquet.read import write_parquet as write_parquet
    from plackett.data.preprocessing.scaling import QueryMinMax as QueryMinMax
    from plackett.data.preprocessing.scaling import QueryRank as QueryRank
    from plackett.data.preprocessing.scaling import QueryUnitLength as QueryUnitLength
    from plackett.data.preprocessing.scaling import QueryZScore as QueryZScore
    from plackett.data.queries import Queries as Queries
    from plackett.data.score_file import read_scores as read_scores
    from plackett.data.trec import Qrels as Qrels
    from plackett.data.trec import Run as Run
    from plackett.data.trec import read_qrels as read_qrels
    from plackett.data.trec import read_trec_run as read_trec_run
    from plackett.data.trec import write_qrels as write_qrels
    from plackett.data.trec import write_trec_run as write_trec_run
    from plackett.evaluation.compare.compare import compare as compare
    from plackett.evaluation.compare.cross_validate import cross_validate as cross_validate
    from plackett.evaluation.evaluate import evaluate as evaluate
    from plackett.evaluation.evaluate import evaluate_every_convention as evaluate_every_convention
    from plackett.evaluation.letor_folds import LetorFolds as LetorFolds
    from plackett.evaluation.select.grids import default_grid as default_grid
    from plackett.evaluation.select.select import select as select
    from plackett.evaluation.splits import QueryKFold as QueryKFold
    from plackett.evaluation.trials.feedback import relevance_feedback as relevance_feedback
    from plackett.evaluation.trials.recommendation import recommendation as recommendation
    from plackett.exports.targets import export as export
    from plackett.metrics.measure import Measure as Measure
    from plackett.rankers.boosting.adarank import AdaRank as AdaRank
    from plackett.rankers.boosting.diff_rank import DiffRank as DiffRank
    from plackett.rankers.boosting.feature_rank import BLFeatureRank as BLFeatureRank
    from plackett.rankers.boosting.feature_rank import FeatureRank as FeatureRank
    from plackett.rankers.boosting.rankboost import RankBoost as RankBoost
    from plackett.rankers.kernel.ranker import KernelRanker as KernelRanker
    from plackett.rankers.linear.prank import PRank as PRank
    from plackett.rankers.linear.ranker import LinearRanker as LinearRanker
    from plackett.rankers.linear.svm_map import SVMMap as SVMMap
    from plackett.rankers.neural.ranker import NeuralRanker as NeuralRanker
    from plackett.rankers.query_dependent.ranker import QueryDependentRanker as QueryDependentRanker
    from plackett.rankers.recommendation.personality import PersonalityDiagnosis as PersonalityDiagnosis
    from plackett.rankers.recommendation.recommend import recommend as recommend
    from plackett.rankers.refinement.base_score import as_base_score as as_base_score
    from plackett.rankers.refinement.kept_judgements import keep_judged as keep_judged
    from plackett.rankers.refinement.refinement import LinearRefiner as LinearRefiner
    from plackett.rankers.refinement.refinement import MultiplicativeRefiner as MultiplicativeRefiner
    from plackett.rankers.refinement.rocchio import RocchioRefiner as RocchioRefiner
    from plackett.rankers.registry import load as load
    from plackett.rankers.registry import ranker as ranker
    from plackett.rankers.registry import ranker_names as ranker_names
    from plackett.rankers.trees.lightgbm import LightGBMRanker as LightGBMRanker
    from plackett.rankers.trees.other_trees import CatBoostRanker as CatBoostRanker
    from plackett.rankers.trees.other_trees import XGBoostRanker as XGBoostRanker
    from plackett.rankers.trees.ranker import TreeRanker as TreeRanker
    from plackett.report.html import write_report as write_report

__version__ = "0.1.0"

# public name -> module that holds it, or the module itself where that bears the name
_HOME = {
    "Queries": "plackett.data.queries",
    "read_letor": "plackett.data.letor.read",
    "write_letor": "plackett.data.letor.read",
    "read_parquet": "plackett.data.parquet.read",
    "write_parquet": "plackett.data.parquet.read",
    "Qrels": "plackett.data.trec",
    "Run": "plackett.data.trec",
    "read_qrels": "plackett.data.trec",
    "read_trec_run": "plackett.data.trec",
    "write_qrels": "plackett.data.trec",
    "write_trec_run": "plackett.data.trec",
    "from_frame": "plackett.data.frames",
    "to_frame": "plackett.data.frames",
    "read_movielens": "plackett.data.feedback.movielens",
    "read_movies": "plackett.data.feedback.movielens",
    "Feedback": "plackett.data.feedback.feedback",
    "read_feedback": "plackett.data.feedback.log",
    "read_scores": "plackett.data.score_file",
    "datasets": "plackett.data.datasets",
    "QueryMinMax": "plackett.data.preprocessing.scaling",
    "QueryZScore": "plackett.data.preprocessing.scaling",
    "QueryUnitLength": "plackett.data.preprocessing.scaling",
    "QueryRank": "plackett.data.preprocessing.scaling",
    "metrics": "plackett.metrics",
    "Measure": "plackett.metrics.measure",
    "losses": "plackett.losses",
    "solvers": "plackett.solvers",
    "LinearRanker": "plackett.rankers.linear.ranker",
    "KernelRanker": "plackett.rankers.kernel.ranker",
    "FeatureRank": "plackett.rankers.boosting.feature_rank",
    "BLFeatureRank": "plackett.rankers.boosting.feature_rank",
    "DiffRank": "plackett.rankers.boosting.diff_rank",
    "AdaRank": "plackett.rankers.boosting.adarank",
    "RankBoost": "plackett.rankers.boosting.rankboost",
    "PRank": "plackett.rankers.linear.prank",
    "SVMMap": "plackett.rankers.linear.svm_map",
    "QueryDependentRanker": "plackett.rankers.query_dependent.ranker",
    "NeuralRanker": "plackett.rankers.neural.ranker",
    "TreeRanker": "plackett.rankers.trees.ranker",
    "LightGBMRanker": "plackett.rankers.trees.lightgbm",
    "XGBoostRanker": "plackett.rankers.trees.other_trees",
    "CatBoostRanker": "plackett.rankers.trees.other_trees",
    "PersonalityDiagnosis": "plackett.rankers.recommendation.personality",
    "recommend": "plackett.rankers.recommendation.recommend",
    "MultiplicativeRefiner": "plackett.rankers.refinement.refinement",
    "LinearRefiner": "plackett.rankers.refinement.refinement",
    "RocchioRefiner": "plackett.rankers.refinement.rocchio",
    "as_base_score": "plackett.rankers.refinement.base_score",
    "keep_judged": "plackett.rankers.refinement.kept_judgements",
    "ranker": "plackett.rankers.registry",
    "ranker_names": "plackett.rankers.registry",
    "load": "plackett.rankers.registry",
    "evaluate": "plackett.evaluation.evaluate",
    "select": "plackett.evaluation.select.select",
    "default_grid": "plackett.evaluation.select.grids",
    "compare": "plackett.evaluation.compare.compare",
    "cross_validate": "plackett.evaluation.compare.cross_validate",
    "evaluate_every_convention": "plackett.evaluation.evaluate",
    "QueryKFold": "plackett.evaluation.splits",
    "LetorFolds": "plackett.evaluation.letor_folds",
    "export": "plackett.exports.targets",
    "write_report": "plackett.report.html",
    "relevance_feedback": "plackett.evaluation.trials.feedback",
    "recommendation": "plackett.evaluation.trials.recommendation",
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
