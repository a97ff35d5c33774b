"""Why a call is refused whatever its arguments are: every reason that an answer or a protocol has.

Why arguments cannot be read is said where they are read, in `mend/`. People read these sentences in logs, recordings
and reports, so they do not change.
"""

from __future__ import annotations

from typing import Final

from ..mend.refusal import CUT_BEFORE as CUT_BEFORE

MIXED: Final = "the fragments of several calls cannot be told apart"
CUT_INSIDE: Final = "the answer was cut off before the call was complete"
RENAMED_LIVE: Final = "its name changed after the client had a part of it"
SENT_WHOLE: Final = "the same call was sent as a whole while this one was arriving"
START_CONTRADICTED: Final = "the start of the call and its fragments tell different arguments"
EVENTS_CONTRADICTORY: Final = "the events of the call tell different arguments"
FREEFORM_UNCLEAR: Final = "the input of the freeform tool was cut off or has no one reading"
ANOTHER_CHOICE: Final = "one choice was asked for, and another one has calls too"
PIECES_UNCLEAR: Final = "it is not clear how the pieces of its arguments fit together"
BEHIND_THE_END: Final = "a call behind the end of the answer, where another one was made of the text that ended it"
