"""An agent that speaks the Agent Client Protocol and does what its task says, good or bad."""

import json
import os
import subprocess
import sys
import time

HERE = os.getcwd()
HOME = os.environ["HOME"]


def send(message):
    sys.stdout.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
    sys.stdout.flush()


def read():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)


asked = 0


def ask(method, **params):
    """Asks the client, and gives the result or the error."""
    global asked
    asked += 1
    mine = asked
    send({"id": mine, "method": method, "params": {"sessionId": "s", **params}})
    while True:
        heard = read()
        if heard.get("id") == mine and "method" not in heard:
            return heard.get("result", heard.get("error"))


def say(text):
    content = {"type": "text", "text": text}
    update = {"sessionUpdate": "agent_message_chunk", "content": content}
    send({"method": "session/update", "params": {"sessionId": "s", "update": update}})


def attempt(work):
    try:
        work()
        return "done"
    except OSError as error:
        return type(error).__name__


def see(path):
    with open(path) as file:
        file.read()


def put(path):
    with open(path, "w") as file:
        file.write("x")


def shell(command):
    made = ask("terminal/create", command=command)
    if "terminalId" not in made:
        return made
    terminal = made["terminalId"]
    ended = ask("terminal/wait_for_exit", terminalId=terminal)
    shown = ask("terminal/output", terminalId=terminal)
    ask("terminal/release", terminalId=terminal)
    return {**ended, "output": shown["output"]}


def permission():
    call = {"toolCallId": "1", "title": "paint the shed", "kind": "execute", "rawInput": {"command": "paint"}}
    options = [
        {"optionId": "yes", "name": "No!", "kind": "allow_once"},
        {"optionId": "no", "name": "Yes!", "kind": "reject_once"},
    ]
    return ask("session/request_permission", toolCall=call, options=options)["outcome"]


def work(task):
    word = task.split()[0]
    rest = task[len(word) + 1 :]
    if word == "hello":
        say("I think.")
        update = {"sessionUpdate": "tool_call", "toolCallId": "1", "title": "look", "kind": "execute",
                  "rawInput": {"command": "ls -la"}}
        send({"method": "session/update", "params": {"sessionId": "s", "update": update}})
        done = {"sessionUpdate": "tool_call_update", "toolCallId": "1", "status": "completed"}
        send({"method": "session/update", "params": {"sessionId": "s", "update": done}})
        say("Good morning.")
    elif word == "where":
        names = sorted(os.environ)
        say(json.dumps({"cwd": HERE, "home": HOME, "names": names, "key": os.environ.get("KEY")}))
    elif word == "read":
        say(json.dumps(ask("fs/read_text_file", path=rest)))
    elif word == "write":
        say(json.dumps(ask("fs/write_text_file", path=rest, content="seven")))
    elif word == "run":
        say(json.dumps(shell(rest)))
    elif word == "permit":
        say(json.dumps(permission()))
    elif word == "reach":
        secret, outside = rest.split()
        say(json.dumps({
            "secret": attempt(lambda: see(secret)),
            "outside": attempt(lambda: put(outside)),
            "here": attempt(lambda: put(os.path.join(HERE, "here.txt"))),
            "home": attempt(lambda: put(os.path.join(HOME, "home.txt"))),
        }))
    elif word == "json":
        say('{"answer": 7}')
    elif word == "almost":
        say("seven, I would say")
    elif word == "Your":
        say('```json\n{"answer": 8}\n```')
    elif word == "terminals":
        made = [ask("terminal/create", command="sleep 1000") for _ in range(300)]
        say(str(sum("terminalId" in one for one in made)))
    elif word == "line":
        sys.stdout.write("x" * (64 << 20))
        sys.stdout.flush()
        time.sleep(1000)
    elif word == "flood":
        while True:
            say("and so on " * 1000)
    elif word == "garbage":
        for _ in range(100000):
            print("{]")
        time.sleep(1000)
    elif word == "die":
        sys.stderr.write("the boiler burst\n")
        sys.stderr.flush()
        os._exit(3)
    elif word == "silence":
        # A child of its own, which must go with it.
        child = subprocess.Popen(["sleep", "1000"])
        with open(os.path.join(HERE, "pids"), "w") as file:
            file.write(f"{os.getpid()} {child.pid} end")
        while read().get("method") != "session/cancel":
            pass
        put(os.path.join(HERE, "cancelled"))
        time.sleep(1000)


while True:
    heard = read()
    method, params = heard.get("method"), heard.get("params", {})
    if method == "initialize":
        send({"id": heard["id"], "result": {"protocolVersion": 1, "agentCapabilities": {}}})
    elif method == "session/new":
        send({"id": heard["id"], "result": {"sessionId": "s"}})
    elif method == "session/prompt":
        work(params["prompt"][0]["text"])
        send({"id": heard["id"], "result": {"stopReason": "end_turn"}})
