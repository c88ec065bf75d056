# SPDX-License-Identifier: Apache-2.0
"""The client of Tools/demo: many connections that keep asking while some of them make the agent fault.

Usage: demo-client.py PORT PID. Exits 0 when everything was as promised, 1 when something was not. Needs no packages.
"""

import asyncio
import json
import sys
import time

CONNECTIONS = 100
# Each connection asks its next question so long after an answer.
PAUSE_SECONDS = 0.02
# How long everybody talks before, between and after the faults.
PHASE_SECONDS = 0.7
# An answer that takes longer counts as lost.
PATIENCE_SECONDS = 20

FAULTS = [
    ("stack-overflow", "recurses until its stack is used up"),
    ("null-write", "writes through a null pointer"),
    ("nil-unwrap", "unwraps an optional that is nil"),
]


class Client:
    """One connection that asks, waits for the answer, and asks again."""

    def __init__(self, number, reader, writer):
        self.number = number
        self.reader = reader
        self.writer = writer
        self.asked = 0
        self.answered = 0
        self.wrong = []
        self.closed = False
        self.waits = []

    async def ask(self, question):
        """The answer to a question, or None when there was none."""
        self.asked += 1
        start = time.monotonic()
        line = await self.exchange(question)
        self.waits.append((start, time.monotonic() - start))
        if line is not None:
            self.answered += 1
        return line

    async def exchange(self, question):
        """Sends a line and returns the next one, or None when the connection was closed."""
        try:
            self.writer.write((question + "\n").encode())
            line = await asyncio.wait_for(self.reader.readline(), PATIENCE_SECONDS)
        except (ConnectionError, asyncio.TimeoutError):
            line = b""
        if not line.endswith(b"\n"):
            self.closed = True
            return None
        return line.decode().rstrip("\n")

    async def expect(self, question, answer):
        """Asks, and remembers when the answer is another than expected."""
        actual = await self.ask(question)
        if actual is not None and actual != answer:
            self.wrong.append(f"connection {self.number}: {question} was answered {actual}, not {answer}")

    async def talk(self, until):
        """Keeps asking: values of its own, so that every answer can be checked."""
        turn = 0
        while not until.is_set() and not self.closed:
            turn += 1
            key = f"key-{self.number}"
            await self.expect(f"SET {key} {turn}", "OK")
            await self.expect(f"GET {key}", f"VALUE {turn}")
            await self.expect("PING", "PONG")
            await asyncio.sleep(PAUSE_SECONDS)


def longest(clients, start, end):
    """The longest wait for an answer, in milliseconds, of questions asked within a time."""
    return max((wait for client in clients for asked, wait in client.waits if start <= asked < end), default=0) * 1000


async def main(port, pid):
    clients = []
    for number in range(CONNECTIONS):
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        clients.append(Client(number, reader, writer))
    print(f"    {CONNECTIONS} connections are open, and each keeps asking.")

    victims = clients[:: CONNECTIONS // len(FAULTS)][: len(FAULTS)]
    others = [client for client in clients if client not in victims]
    await others[0].expect("SET kept-in-memory yes", "OK")
    over = asyncio.Event()
    talks = [asyncio.create_task(client.talk(over)) for client in others]
    turns = [asyncio.Event() for _ in victims]
    last_words = [asyncio.create_task(victim.talk(turn)) for victim, turn in zip(victims, turns)]
    await asyncio.sleep(PHASE_SECONDS)

    quiet_end = time.monotonic()
    answers = sum(client.answered for client in clients)
    print(f"    {answers} answers so far; the slowest took {longest(clients, 0, quiet_end):.1f} ms.\n")

    problems = []
    for victim, turn, talk, (fault, explanation) in zip(victims, turns, last_words, FAULTS):
        turn.set()
        await talk
        start = time.monotonic()
        before = sum(client.answered for client in others)
        answer = await victim.exchange(f"FAULT {fault}")
        seconds = time.monotonic() - start
        if answer is not None:
            problems.append(f"FAULT {fault} was answered {answer}: it did not happen")
        await asyncio.sleep(PHASE_SECONDS)
        served = sum(client.answered for client in others) - before
        print(f"    One of them sends 'FAULT {fault}', which {explanation}.")
        print(
            f"      Its connection was closed after {seconds * 1000:.1f} ms. The others got {served} answers meanwhile,"
            f" the slowest after {longest(others, start, time.monotonic()):.1f} ms."
        )
    over.set()
    await asyncio.gather(*talks)
    slowest = longest(others, quiet_end, time.monotonic())

    await others[0].expect("GET kept-in-memory", "VALUE yes")
    answer = await others[0].ask("STATS")
    stats = json.loads(answer) if answer else {}
    for client in clients:
        client.writer.close()

    asked = sum(client.asked for client in clients)
    answered = sum(client.answered for client in clients)
    closed = [client.number for client in clients if client.closed]
    wrong = [text for client in clients for text in client.wrong]
    if closed != [victim.number for victim in victims]:
        problems.append(f"closed connections: {closed}, expected {[victim.number for victim in victims]}")
    if answered != asked:
        problems.append(f"{asked - answered} questions were not answered")
    problems += wrong[:5]
    for key, expected in [("pid", pid), ("faultsResumed", len(FAULTS)), ("restarts", 0)]:
        if stats.get(key) != expected:
            problems.append(f"STATS says {key} is {stats.get(key)}, not {expected}")

    print("\n    What survived:")
    print(f"      the process       pid {stats.get('pid')} before and after, {stats.get('restarts')} restarts")
    print(f"      the connections   {len(clients) - len(closed)} of {len(clients)}; {len(closed)} were closed: those that asked for a fault")
    print(f"      the questions     {answered} of {asked} answered, {asked - answered} lost, {len(wrong)} answered wrong")
    print(f"      the time          no other client waited longer than {slowest:.1f} ms")
    for problem in problems:
        print(f"demo: not as promised: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(int(sys.argv[1]), int(sys.argv[2]))))
