"""Evaluation: tables of measures, folds, comparisons, selection, fusion and simulated feedback.

The most used names are at the top of the package (``plackett.evaluate``, ``plackett.compare``); the others are here.
"""

from plackett._lazy import attach

__all__, __getattr__, __dir__ = attach(
    __name__,
    {
        "plackett.data.text_table": "read_scores",
        "plackett.evaluation.compare.comparison": "Comparison",
        "plackett.evaluation.evaluate": "Evaluation evaluate_every_convention",
        "plackett.evaluation.judges.agreement": "judge_agreement",
        "plackett.evaluation.judges.next_queries": "judge_next",
        "plackett.evaluation.judges.plan": "judge_plan",
        "plackett.evaluation.parts": "write_scores",
        "plackett.evaluation.permutation": "permutation_importance",
        "plackett.evaluation.select.grids": "default_grid",
        "plackett.evaluation.simulated_feedback": "relevance_feedback",
        "plackett.evaluation.simulated_recommendation": "recommendation",
        "plackett.evaluation.slicing": "slices",
    },
)
