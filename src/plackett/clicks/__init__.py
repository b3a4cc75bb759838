"""Clicks: logs of ranked lists and clicks, click models, propensities and judgements from them.

Not to be confused with ``plackett.Feedback.from_clicks``, which makes preferences for ``refine`` from a few clicks of
one user.
"""

from plackett._lazy import attach

__all__, __getattr__, __dir__ = attach(
    __name__,
    {
        "plackett.clicks.correction.correct": "corrected_labels",
        "plackett.clicks.correction.diagnosis": "CorrectionDiagnosis",
        "plackett.clicks.correction.labels": "CorrectedLabels",
        "plackett.clicks.counterfactual.evaluate": "evaluate_from_clicks",
        "plackett.clicks.counterfactual.policy": "LoggingPolicy",
        "plackett.clicks.counterfactual.result": "ClickEvaluation ClickEvaluations",
        "plackett.clicks.description": "ClickDescription",
        "plackett.clicks.interleaving.from_log": "read_interleaving",
        "plackett.clicks.interleaving.interleaver": "Interleaver ShownList",
        "plackett.clicks.interleaving.preference": "Preference sessions_needed",
        "plackett.clicks.interleaving.simulate": "InterleavingSimulation simulate_interleaving",
        "plackett.clicks.judgements": "Judgements",
        "plackett.clicks.log": "ClickLog",
        "plackett.clicks.models.base": "ClickModel",
        "plackett.clicks.models.comparison": "ClickComparison compare_click_models",
        "plackett.clicks.models.cells": "DCTR GCTR PBM RCTR UBM",
        "plackett.clicks.models.chain": "CCM CM DBN DCM SDBN",
        "plackett.clicks.models.registry": "get_click_model",
        "plackett.clicks.pairs": "Pairs",
        "plackett.clicks.propensities.estimate": "estimate_propensities",
        "plackett.clicks.propensities.propensities": "Propensities",
        "plackett.clicks.reading.cleaning": "Cleaning",
        "plackett.clicks.simulate": "simulate_clicks",
        "plackett.clicks.reading.read": "read_clicks",
        "plackett.clicks.reading.ubi": "UbiNames",
    },
)
