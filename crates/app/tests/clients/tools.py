"""Calls every tool of one role with the `mcp` package. Arguments: the program, the role, a file with a JSON list of
{"tool", "arguments"}. Prints one JSON object: the names of the tools, and what each call came to."""

import asyncio
import json
import os
import sys

from mcp import ClientSession
from mcp.client.stdio import StdioServerParameters, stdio_client


def field(thing, *names):
    """The first field that the package has under one of these names: versions spell them differently."""
    for name in names:
        if hasattr(thing, name):
            return getattr(thing, name)
    raise AttributeError(names)


async def main(program, role, calls):
    server = StdioServerParameters(command=program, args=["mcp", "--role", role], env=dict(os.environ))
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as session:
            greeting = await session.initialize()
            tools = await session.list_tools()
            answers = []
            for call in calls:
                result = await session.call_tool(call["tool"], call["arguments"])
                answers.append(
                    {
                        "tool": call["tool"],
                        "is_error": bool(field(result, "is_error", "isError")),
                        "text": "".join(part.text for part in result.content),
                    }
                )
    server = field(greeting, "server_info", "serverInfo")
    print(json.dumps({"server": server.name, "tools": [tool.name for tool in tools.tools], "answers": answers}))


asyncio.run(main(sys.argv[1], sys.argv[2], json.load(open(sys.argv[3]))))
