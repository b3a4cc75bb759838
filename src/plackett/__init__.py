"""plackett: learning to rank.

Train rankers from judged lists, refine a ranking you already have, compare rankers honestly, deploy the best one.
"""

from plackett._lazy import attach

__version__ = "0.1.0"

# Loaded when first used. Type checkers and editors read the same names in __init__.pyi.
_names, __getattr__, __dir__ = attach(
    __name__,
    {
        "plackett._threads": "set_n_threads",
        "plackett.data.queries": "Queries",
        "plackett.data.letor.read": "read_letor",
        "plackett.data.letor.write": "write_letor",
        "plackett.data.parquet.read": "read_parquet",
        "plackett.data.parquet.write": "write_parquet",
        "plackett.data.trec.qrels": "Qrels",
        "plackett.data.trec.run": "Run",
        "plackett.data.trec.files": "read_qrels read_trec_run write_qrels write_trec_run",
        "plackett.data.tables.frames": "from_frame",
        "plackett.data.tables.files": "read_table",
        "plackett.data.feedback.feedback": "Feedback",
        "plackett.data.feedback.log": "read_feedback",
        "plackett.rankers.linear.ranker": "LinearRanker",
        "plackett.rankers.linear.prank": "PRank",
        "plackett.rankers.linear.svm_map": "SVMMap",
        "plackett.rankers.kernel.ranker": "KernelRanker",
        "plackett.rankers.boosting.feature_rank": "BLFeatureRank FeatureRank",
        "plackett.rankers.boosting.diff_rank": "DiffRank",
        "plackett.rankers.boosting.adarank": "AdaRank",
        "plackett.rankers.boosting.rankboost": "RankBoost",
        "plackett.rankers.query_dependent.ranker": "QueryDependentRanker",
        "plackett.rankers.neural.ranker": "NeuralRanker",
        "plackett.rankers.trees.ranker": "TreeRanker",
        "plackett.rankers.trees.xgboost": "XGBoostRanker",
        "plackett.rankers.refinement.boosted": "LinearRefiner MultiplicativeRefiner",
        "plackett.rankers.refinement.rocchio": "RocchioRefiner",
        "plackett.rankers.recommendation.personality": "PersonalityDiagnosis",
        "plackett.rankers.recommendation.recommend": "recommend",
        "plackett.rankers.registry": "load ranker ranker_names",
        "plackett.rankers.scoring.load": "load_scorer",
        "plackett.evaluation.evaluate": "evaluate",
        "plackett.evaluation.compare.compare": "compare",
        "plackett.evaluation.compare.cross_validate": "cross_validate",
        "plackett.evaluation.compare.runs": "compare_runs",
        "plackett.evaluation.fusion.fuse": "fuse",
        "plackett.evaluation.fusion.features": "from_runs",
        "plackett.evaluation.select.select": "select",
        "plackett.evaluation.splits": "QueryKFold",
        "plackett.exporting.targets": "export",
        "plackett.report.clicks": "write_click_report",
        "plackett.report.html": "write_report",
    },
    modules="plackett.clicks plackett.data.datasets plackett.data.preprocessing plackett.evaluation "
    "plackett.exceptions plackett.losses plackett.metrics plackett.solvers plackett.testing plackett.text",
)
__all__ = ["__version__", *_names]
