#!/usr/bin/env python3
"""A host in Python: brings a tool along, streams a prompt, reviews what waits, takes an operation back.

    python3 host.py dryad --script story.json "Write the greeting"
"""
import itertools
import json
import subprocess
import sys

TOOL = {"name": "whoami", "description": "Tells who is at the keyboard", "parameters": {"type": "object"}}


class Dryad:
    """The program in RPC mode: one JSON object per line, both ways."""

    def __init__(self, command, on_event):
        arguments = [*command, "--mode", "rpc"]
        self.process = subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8")
        self.ids, self.on_event = itertools.count(1), on_event

    def send(self, **frame):
        self.process.stdin.write(json.dumps(frame) + "\n")
        self.process.stdin.flush()

    def take(self, done):
        """Takes frames until one is what is waited for; the others are events."""
        for line in self.process.stdout:
            frame = json.loads(line)
            if done(frame):
                return frame
            self.on_event(self, frame)
        sys.exit("dryad has ended")

    def ask(self, kind, **fields):
        """Sends a command and waits for its answer."""
        number = f"req_{next(self.ids)}"
        self.send(id=number, type=kind, **fields)
        answer = self.take(lambda frame: frame["type"] == "response" and frame.get("id") == number)
        if not answer["success"]:
            sys.exit(f"{kind}: {answer['error']}")
        return answer.get("data")


def on_event(dryad, frame):
    if frame["type"] == "message_update" and frame["assistantMessageEvent"]["type"] == "text_delta":
        print(frame["assistantMessageEvent"]["delta"], end="", flush=True)
    elif frame["type"] == "message_update" and frame["assistantMessageEvent"]["type"] == "text_end":
        print()
    elif frame["type"] == "host_tool_call":
        result = {"content": [{"type": "text", "text": "Ada"}]}
        dryad.send(type="host_tool_result", id=frame["id"], result=result)
    elif frame["type"] == "extension_ui_request" and frame["method"] == "confirm":
        print(f"asked: {frame['title']}")  # left open: the action is reviewed below


def main(*command, prompt):
    dryad = Dryad(command, on_event)
    dryad.take(lambda frame: frame["type"] == "ready")
    dryad.ask("set_host_tools", tools=[TOOL])
    dryad.ask("set_update_mode", mode="lean")
    dryad.ask("prompt", message=prompt)
    dryad.take(lambda frame: frame["type"] == "prompt_result")
    for action in dryad.ask("get_pending_actions")["actions"]:
        print(f"pending: {action['label']}\n{action['preview']['text']}", end="")
        dryad.ask("resolve", actionId=action["id"], action="apply", reason="reviewed")
    for operation in dryad.ask("get_operations", limit=1)["operations"]:
        print(f"done: {operation['label']}")
        undone = dryad.ask("undo", operationIds=[operation["id"]])["operations"]
        print(f"undone: {undone[0]['label']}, complete: {undone[0]['complete']}")
    dryad.process.stdin.close()
    return dryad.process.wait()


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:-1], prompt=sys.argv[-1]))
