"""Models of LightGBM, XGBoost, CatBoost and RankLib, read from their files."""
