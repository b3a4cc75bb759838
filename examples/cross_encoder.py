"""Train a cross-encoder of sentence-transformers with losses of this library, without a download.

    pip install 'plackett[neural]' 'sentence-transformers[train]'
    python examples/cross_encoder.py

The encoder is a tiny BERT with random weights, whose vocabulary consists of the words of the documents. For a real one
replace ``tiny_encoder`` by ``CrossEncoder("microsoft/mpnet-base", num_labels=1)``; the rest stays the same. The texts
are synthetic: a document that has more words of the query is better, and many documents are equally good.
"""

import sys
import tempfile

import numpy as np

import plackett as pk

WORDS = [f"{first}{second}" for first in "bdfklm" for second in ("ad", "eg", "ip")]
LOSSES = {
    "listmle": pk.losses.ListMLE(),
    "p-listmle": pk.losses.PListMLE("dcg"),
    "listnet": pk.losses.ListNet(),
}


def made_lists(n_queries, seed=0, longest=12):
    """Return rows with a query, its documents in random order, and their labels 0, 1 and 2."""
    rng = np.random.default_rng(seed)
    rows = {"query": [], "documents": [], "labels": []}
    for _ in range(n_queries):
        query = rng.choice(WORDS, 2, replace=False)
        documents = [rng.choice(WORDS, 4, replace=False) for _ in range(rng.integers(3, longest))]
        for document in documents:
            places = rng.choice(4, rng.integers(0, 3), replace=False)
            document[places] = query[: places.size]
        rows["query"].append(" ".join(query))
        rows["documents"].append([" ".join(document) for document in documents])
        rows["labels"].append([len({*query} & {*document}) for document in documents])
    return rows


def tiny_encoder(words, folder, seed=0, width=32):
    """Return a CrossEncoder of random weights, with a tokenizer of whole words; its files are written to a folder."""
    import tokenizers
    import torch
    import transformers
    from sentence_transformers import CrossEncoder

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    numbers = {word: number for number, word in enumerate([*special, *sorted({*words})])}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(numbers, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.post_processor = tokenizers.processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        pair="[CLS] $A [SEP] $B:1 [SEP]:1",
        special_tokens=[("[CLS]", numbers["[CLS]"]), ("[SEP]", numbers["[SEP]"])],
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=32, **names).save_pretrained(
        folder
    )
    config = transformers.BertConfig(
        vocab_size=len(numbers),
        hidden_size=width,
        intermediate_size=2 * width,
        num_hidden_layers=2,
        num_attention_heads=4,
        max_position_embeddings=32,
        num_labels=1,
        initializer_range=0.2,  # the default is for wide nets
        hidden_dropout_prob=0.0,
        attention_probs_dropout_prob=0.0,
    )
    torch.manual_seed(seed)
    transformers.BertForSequenceClassification(config).save_pretrained(folder)
    return CrossEncoder(str(folder), device="cpu")


def train(model, loss, rows, folder, n_epochs=6):
    """Train the model; ``loss`` is one of sentence-transformers, or one of this library for the same batches."""
    from datasets import Dataset
    from sentence_transformers.cross_encoder import CrossEncoderTrainer, CrossEncoderTrainingArguments

    arguments = CrossEncoderTrainingArguments(
        str(folder),
        num_train_epochs=n_epochs,
        per_device_train_batch_size=16,
        learning_rate=5e-3,
        use_cpu=True,
        seed=0,
        report_to="none",
        save_strategy="no",
        logging_strategy="epoch",
        disable_tqdm=True,
        dataloader_pin_memory=False,
    )
    trainer = CrossEncoderTrainer(model=model, args=arguments, train_dataset=Dataset.from_dict(rows), loss=loss)
    trainer.train()
    return trainer


def ndcg(model, rows):
    """Return the mean NDCG@5 of the model's scores."""
    pairs = [(query, text) for query, own in zip(rows["query"], rows["documents"], strict=True) for text in own]
    qid = np.repeat(np.arange(len(rows["query"])), [len(own) for own in rows["documents"]])
    scores = model.predict(pairs, show_progress_bar=False)
    return pk.metrics.ndcg(np.concatenate(rows["labels"]), scores, qid=qid, k=5).mean()


def main(n_queries=400, n_epochs=6):
    from sentence_transformers.cross_encoder import losses

    training, test = made_lists(n_queries), made_lists(200, seed=1)
    with tempfile.TemporaryDirectory() as folder:
        contestants = {name: loss.as_sentence_transformers for name, loss in LOSSES.items()}
        contestants["ListMLELoss of sentence-transformers, which takes the order of the documents"] = losses.ListMLELoss
        for name, loss in contestants.items():
            model = tiny_encoder(WORDS, folder)
            before = ndcg(model, test)
            train(model, loss(model), training, folder, n_epochs)
            print(f"{name}: NDCG@5 {before:.3f} before, {ndcg(model, test):.3f} after", file=sys.stderr)


if __name__ == "__main__":
    main()
