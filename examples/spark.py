"""Score, evaluate and prepare data on Spark, and count clicks there, with a saved ranker.

    pip install 'plackett[trees,tables]' 'pyspark[sql]'    # and Java 17
    python examples/spark.py

It uses two threads of this machine. On a cluster, plackett must be installed on the executors.
"""

import os
import sys
import tempfile
from pathlib import Path

import pandas as pd
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import plackett as pk

COUNT = """
    SELECT query, doc, rank, SUM(click) AS clicks, COUNT(*) AS impressions FROM shown GROUP BY query, doc, rank
"""


def spark_here():
    """Return a session on two threads of this machine."""
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings = {"spark.ui.enabled": "false", "spark.driver.host": "127.0.0.1", "spark.sql.shuffle.partitions": "4"}
    builder = SparkSession.builder.master("local[2]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def scored(frame, ranker, features):
    """Return the rows with scores; each batch of Arrow rows is scored at once.

    For rankers whose scores depend on the list, ``whole(frame)`` first, and join the batches of a partition as
    ``evaluated`` does.
    """
    shared = frame.sparkSession.sparkContext.broadcast(ranker)

    def score(batches):
        for rows in batches:
            yield rows[["qid", "label"]].assign(score=shared.value.predict(rows[features]))

    return frame.mapInPandas(score, "qid long, label double, score double")


def score_column(ranker, features):
    """Return the scores as an expression, for rankers that do not depend on the list."""

    @F.pandas_udf("double")
    def score(rows: pd.DataFrame) -> pd.Series:
        return pd.Series(ranker.predict(rows))

    return score(F.struct(*features))


def whole(frame):
    """Return the rows such that each query is in one partition, its rows together."""
    return frame.repartition("qid").sortWithinPartitions("qid")


def evaluated(scores, metrics):
    """Return the values of each query: one call of ``evaluate`` for all queries of a partition."""

    def measure(batches):
        rows = pd.concat(list(batches))
        if len(rows):
            found = pk.evaluate(rows["label"], rows["score"], qid=rows["qid"], metrics=metrics)
            yield found.to_frame().reset_index()

    columns = ", ".join(["qid long", *(f"`{metric}` double" for metric in metrics)])
    return whole(scores).mapInPandas(measure, columns)


def main():
    spark = spark_here()
    data = pk.datasets.make_web_like(200, n_features=8, random_state=0)
    features = [f"f{number}" for number in range(1, 9)]
    rows = pd.DataFrame(data.X, columns=features).assign(label=data.y, qid=data.qid)
    frame = spark.createDataFrame(rows.sample(frac=1, random_state=0))  # rows in any order

    with tempfile.TemporaryDirectory() as folder:
        parts = str(Path(folder) / "parts")
        whole(frame).write.parquet(parts)  # without spark.sql.files.maxRecordsPerFile, which would cut queries
        ranker = pk.TreeRanker(n_rounds=20).fit(parts)
    here = pk.evaluate(rows, ranker.predict(rows[features]), metrics=["ndcg@10", "map"])

    there = evaluated(scored(frame, ranker, features), ["ndcg@10", "map"]).toPandas().set_index("qid")
    assert abs(there.loc[here.queries] - here.values).to_numpy().max() < 1e-12
    print(f"{len(there)} queries, ndcg@10 {there['ndcg@10'].mean():.4f}")

    column = frame.withColumn("score", score_column(ranker, features)).toPandas()
    assert (column["score"] == ranker.predict(column[features])).all()

    log = pk.clicks.simulate_clicks(data, data.X[:, 0], 2_000, k=5, random_share=0.5, random_state=0)
    names = [log.pairs[pair] for pair in log.pair.tolist()]
    shown = pd.DataFrame(names, columns=["query", "doc"]).assign(rank=log.rank, click=log.click.astype(int))
    spark.createDataFrame(shown).createOrReplaceTempView("shown")
    counts = spark.sql(COUNT).toPandas()
    columns = ["query", "doc", "rank", "clicks", "impressions"]
    counted = pk.clicks.ClickLog.from_counts(*(counts[name] for name in columns))
    found = pk.clicks.estimate_propensities(counted)
    assert (found.values == pk.clicks.estimate_propensities(log).values).all()
    print(f"propensities {found.values.round(2).tolist()} from {counted!r}")
    spark.stop()


if __name__ == "__main__":
    main()
