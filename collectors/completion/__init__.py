"""What an exchange with a completion interface means. Pure: bytes in, an `Answer` out, no exception.

1. An answer that failed still holds what was read before it failed; transport failures come first,
   since the closed order of classes puts them there.
2. A stream is read event by event. Comments, events without data, empty data, `data: ""` and chunks
   without choices are no output. It succeeded only with a finish reason and a clean end: without a
   finish reason it is `truncated_stream`; a missing `[DONE]` alone is a warning.
3. An `error` object, or an event of type `error`, after a status of 200 is `error_in_stream`, also where
   it came whole and no stream followed, and also for a request that was not streamed. An event that is
   no JSON object, or a body that is no event stream, is `malformed_stream`; a whole body that is not what
   the interface promises is `malformed_body`. What follows a malformed event is read.
4. Reasoning is told by channel: the members `reasoning` and `reasoning_content` (both, where both came),
   items of the Responses API, counts above zero in usage, and `<think>`-like tags in visible text, which
   stays as it came. Null, zero and blank text are no reasoning.
5. Tool calls are put together by index, whatever the order of their pieces; what was sent is never
   repaired, only noted: arguments that came twice stand twice.
6. Counts are those of the last usage that is not null. What is absent, no count, or impossible is null
   with a warning, never zero and never a cap.
7. Only the choice with index 0 is read.
"""

from anvil.collectors.completion.chat import DONE, KEEPALIVES, Watch, read_chat, read_chat_stream
from anvil.collectors.completion.responses import read_responses

__all__ = ["DONE", "KEEPALIVES", "Watch", "read_chat", "read_chat_stream", "read_responses"]
