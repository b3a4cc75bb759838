"""Boosted trees with our losses, and rankers of LightGBM, XGBoost and CatBoost."""
