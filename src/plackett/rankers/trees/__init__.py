"""Boosted trees of LightGBM, with our losses or its own, and of XGBoost."""
