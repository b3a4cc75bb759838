"""Click models by name."""

from __future__ import annotations

from typing import Any

from plackett.clicks.models.base import ClickModel
from plackett.clicks.models.cells import DCTR, GCTR, PBM, RCTR, UBM
from plackett.clicks.models.chain import CCM, CM, DBN, DCM, SDBN
from plackett.validation import check_choice

_CLASSES: tuple[type[ClickModel], ...] = (GCTR, RCTR, DCTR, PBM, CM, DCM, CCM, DBN, SDBN, UBM)
CLICK_MODELS = {cls.name: cls for cls in _CLASSES}


def get_click_model(name: str, **parameters: Any) -> ClickModel:
    """Return a click model by its name in the literature.

    Parameters
    ----------
    name : {"gctr", "rctr", "dctr", "pbm", "cm", "dcm", "ccm", "dbn", "sdbn", "ubm"}
    **parameters
        Of the class.

    Examples
    --------
    >>> from plackett.clicks import get_click_model
    >>> get_click_model("dbn", prior="fitted")
    DBN(prior='fitted')
    """
    check_choice(name, "name", tuple(CLICK_MODELS))
    return CLICK_MODELS[name](**parameters)
