"""FeatureRank, BL-FeatureRank, DiffRank, AdaRank and RankBoost."""
