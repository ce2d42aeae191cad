#!/usr/bin/env python3
"""Writes corpus.tsv: what cronsim (PyPI) says of expressions, as a second opinion on ours.

Run with `pip install cronsim==2.8` done: python3 generate.py > corpus.tsv
A line is: zone, start (seconds since 1970), expression, the next instants (seconds).

Left out on purpose are expressions that cronsim knows and we do not (L, #), and, in zones whose clocks
change, minutes with a star in fixed hours: cronsim drops those for a day when the hour is jumped over.
"""
import random
from datetime import datetime, timedelta, timezone
from zoneinfo import ZoneInfo

from cronsim import CronSim

random.seed(20261115)
ZONES = ["UTC", "Europe/Berlin", "America/New_York", "Australia/Sydney", "Asia/Kolkata"]
STEADY = {"UTC", "Asia/Kolkata"}
STARTS = [
    "2026-03-07T20:17:00", "2026-03-28T22:03:00", "2026-10-24T21:59:00", "2026-10-31T23:30:00",
    "2026-12-31T23:59:00", "2027-02-27T12:00:00", "2027-04-03T10:00:00", "2028-02-28T23:58:00",
    "2096-12-31T00:00:00",
]
MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()
DAYS = "sun mon tue wed thu fri sat".split()


def field(low, high, names=None):
    kind = random.random()
    a = random.randint(low, high - 1)
    b = random.randint(a + 1, high)  # cronsim takes 5-5 for a range around the whole clock
    step = random.choice([2, 3, 5, 7])
    if kind < 0.35:
        return "*"
    if kind < 0.45:
        return f"*/{step}"
    if kind < 0.65:
        return names[a - low] if names and random.random() < 0.5 and a - low < len(names) else str(a)
    if kind < 0.8:
        return f"{a}-{b}"
    if kind < 0.9:
        return f"{a}-{b}/{step}"
    return ",".join(str(v) for v in sorted(random.sample(range(low, high + 1), 3)))


def expression():
    return " ".join([
        field(0, 59), field(0, 23), field(1, 31), field(1, 12, MONTHS), field(0, 6, DAYS),
    ])


FIXED = [
    "0 0 29 2 *", "0 0 29 2 */2", "30 2 * * *", "0 2 * * *", "0 * * * *", "30 * * * *", "*/5 * * * *", "* * * * *",
    "0 3 * * *", "15 1,2,3 * * *", "0 9 * * 1-5", "0 0 1 * *", "0 0 31 * *", "59 23 31 12 *", "0 12 13 * fri",
    "0 12 */10 * fri", "0 0 * * 7", "0 0 * * 5-7", "@daily", "@hourly", "@weekly", "@monthly", "@yearly",
    "45 */2 * * *", "0 0-23/2 * * *", "30 1-3 * * *", "0 0 15 */3 *", "0 0 29 2 mon", "0 0 1,15 * wed",
]


def lines():
    jobs = [(zone, start, expr) for expr in FIXED for zone in ZONES for start in STARTS[:8:3] + STARTS[1:3]]
    while len(jobs) < 1_500:
        jobs.append((random.choice(ZONES), random.choice(STARTS), expression()))
    for zone, start, expr in jobs:
        fields = expr.split()
        if zone not in STEADY and len(fields) == 5 and fields[0][0] == "*" and fields[1][0] != "*":
            continue
        tz = ZoneInfo(zone)
        begin = datetime.fromisoformat(start).replace(tzinfo=timezone.utc).astimezone(tz)
        try:
            found = []
            for at in CronSim(expr, begin):
                found.append(str(int(at.timestamp())))
                if len(found) == 8:
                    break
        except Exception:
            continue
        if found:
            print("\t".join([zone, str(int(begin.timestamp())), expr, " ".join(found)]))


lines()
