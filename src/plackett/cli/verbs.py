"""The verbs of the command, each a function in the module of its name, with a one-line summary and examples."""

from __future__ import annotations

PANELS: dict[str, dict[str, tuple[str, ...]]] = {  # the verbs below each heading: summary and examples
    "Judged lists": {
        "info": ("Describe judged lists, or a model.", "info train.txt"),
        "train": ("Fit a ranker, and save it.", "train train.txt --validation vali.txt --tune-l2 -o my.plackett"),
        "tune": (
            "Choose hyperparameters on held-out queries.",
            "tune train.txt -r ranksvm --grid l2=1,0.1,0.01 -o my.plackett",
        ),
        "rank": ("Score documents with a model.", "rank model.plackett test.txt --run mine -o test.run"),
        "explain": ("Show what each feature adds to the scores.", "explain model.plackett test.txt --query 18219"),
        "evaluate": (
            "Measure a ranking, or compare several.",
            "evaluate test.txt scores.txt -m ndcg@10 --convention letor4",
            "evaluate qrels.txt bm25.run dense.run --report runs.html",
        ),
        "compare": (
            "Compare rankers on the same folds, with significance tests.",
            "compare mq2008 -r listmle,ranksvm --report mq2008.html",
        ),
        "fuse": (
            "Fuse runs into one, and say whether it pays.",
            "fuse bm25.run dense.run --qrels qrels.txt -o fused.run",
            "fuse bm25.run dense.run --method rrf -o fused.run",
        ),
    },
    "Judgements and clicks": {
        "judge": (
            "Labels by language models, with people as the measure.",
            "judge agreement qrels.txt model-a.txt model-b.csv",
            "judge plan qrels.txt model-a.txt --runs a.run b.run",
            "judge next a.run b.run --qrels qrels.txt --order order.txt",
        ),
        "refine": (
            "Refine a ranking with a few judgements or clicks.",
            "refine lists.txt --base run.txt --feedback clicks.csv",
            "refine trial judged.txt --base 20 -n 10 --method mrr,lrr",
        ),
        "clicks": (
            "Describe a click log, grade its documents, compare click models.",
            "clicks info ubi_queries.ndjson ubi_events.ndjson",
            "clicks judge clicks.csv -m ubm -o clicks.qrels",
            "clicks evaluate log.csv new.run logged --propensities em",
        ),
        "interleave": (
            "Plan an interleaved test of two rankers.",
            "interleave simulate test.txt -a bm25 -b model.plackett -n 5000",
        ),
    },
    "Texts, deployment and papers": {
        "index": ("Index texts.", "index notes/ -o notes.index"),
        "search": ("Search an index.", "search notes.index 'learning to rank' -k 5"),
        "workbench": ("Search, judge and refine in a browser.", "workbench notes/ --no-browser"),
        "export": (
            "Write a model for a search engine, ONNX or another tool.",
            "export my.plackett --to solr --features names.txt -o solr.json",
        ),
        "serve": ("Serve models over HTTP.", "serve shop=model.plackett new=new.plackett --shadow new"),
        "reproduce": (
            "Recompute the tables of a paper beside the printed numbers.",
            "reproduce p-listmle --quick --data ~/data > p-listmle.md",
        ),
    },
}
VERBS = {name: texts for verbs in PANELS.values() for name, texts in verbs.items()}
