"""Models of LightGBM, XGBoost, CatBoost and RankLib: files to arrays and back, without rankers."""
