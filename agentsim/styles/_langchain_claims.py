"""What the article says of LangChain and LangGraph, statement by statement, and what was measured."""

from __future__ import annotations

from agentsim.core.style import Claim

_ARTICLE = "The Agent Loop Explained: "
_VOCABULARIES = _ARTICLE + "Same loop, five vocabularies"
_GRAPH = _ARTICLE + "LangGraph and LangChain createAgent: the loop is a graph"
_PRACTICE = _ARTICLE + "give the model an explicit way to finish"
_FAQ = _ARTICLE + "frequently asked questions"
VERSION = "langchain 1.5.14 with @langchain/langgraph 1.7.3; langchain 1.5.2 with langgraph 1.2.24"


def _claim(name: str, says: str, source: str, divergence: str | None = None) -> Claim:
    return Claim(f"langchain.{name}", says, source, VERSION, divergence)


CLAIMS = (
    _claim("ten-allows-five", "recursionLimit 10 allows five tool round trips, 20 allows ten.", _VOCABULARIES),
    _claim("ten-buys-five-calls", "recursionLimit 10 buys roughly five model calls, not ten.", _VOCABULARIES),
    _claim("round-trip-costs-two", "A tool round trip costs two super-steps: model_request, then tools.", _VOCABULARIES),
    _claim("cap-throws", "At the cap LangGraph throws GraphRecursionError.", _VOCABULARIES, "Python's create_react_agent returns "
           '"Sorry, need more steps to process this request." under an even limit'),
    _claim("router", "A router sends execution to tools when the last AIMessage has tool_calls, and to the exit otherwise.", _GRAPH),
    _claim("default-25", "The default is 25.", _GRAPH, "in Python it is 9,999 (create_agent) and 10,007 (create_react_agent)"),
    _claim("parallel-nodes-share", "Nodes that run in parallel share a super-step.", _GRAPH),
    _claim("hooks-cost-one", "Each beforeModel and afterModel hook is a node and costs one more super-step per round trip.", _GRAPH),
    _claim("limit-costs-four", "modelCallLimitMiddleware raises the cost of a round trip from 2 super-steps to 4.", _GRAPH),
    _claim("limit-is-in-calls", "The call-limit middleware expresses \"at most eight model calls\" directly.", _GRAPH),
    _claim("limit-8-under-20", "runLimit 8 with recursionLimit 20 throws after five tool runs, before the graceful end.", _GRAPH),
    _claim("limit-8-under-40", "With recursionLimit 40 the same agent returns after eight.", _GRAPH),
    _claim("above-four-times", "Keep recursionLimit above 4 x runLimit.", _GRAPH, "33 is above 4 x 8 and throws; it takes 4 x runLimit + 2"),
    _claim("end-is-graceful", 'exitBehavior "end" stops gracefully.', _GRAPH, "it returns, but the limit's message is the last message and looks "
           "like an answer"),
    _claim("direct-is-a-signal", "A returnDirect tool makes completion a signal.", _PRACTICE, "beside other calls JavaScript looks at the last "
           "result, Python wants all calls to be direct"),
    _claim("at-least-two", "One tool round trip in createAgent uses at least two super-steps.", _FAQ),
)  # fmt: skip
