"""The static vectors of wordllama, read from the files of its wheel."""

from importlib.util import find_spec
from pathlib import Path


def wordllama_of_wheel():
    from safetensors.numpy import load_file
    from tokenizers import Tokenizer
    from wordllama.inference import WordLlamaInference

    home = Path(find_spec("wordllama").submodule_search_locations[0])
    table = load_file(home / "weights" / "l2_supercat_256.safetensors")["embedding.weight"]
    tokenizer = Tokenizer.from_file(str(home / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    return WordLlamaInference(table, tokenizer)
