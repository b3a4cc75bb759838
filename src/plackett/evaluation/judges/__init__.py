"""Labels by language models, with people's judgements as the measure."""
