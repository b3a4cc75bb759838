"""The scoring service, which ranks lists of documents over HTTP."""
