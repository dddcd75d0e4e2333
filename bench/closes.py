#!/usr/bin/env python3
"""How long does a year of monthly closes take on 1,000 GPUs?

Usage: bench/closes.py STINT [--gpus 1000] [--months 12] [--line-hours 24|1] [--history FILE]. Writes a synthetic year
(125 machines of eight GPUs: a bill in FOCUS with a line for each machine and day or hour, 500 Slurm jobs a day of 20 clients, hourly
telemetry in four metrics of each GPU) and imports it, which is not timed. Then `stint close` closes all months against their invoices, and
the single commands `stint bill`, `reconcile` and `statements` do each month by themselves. Prints wall and processor time of the year and of a
command; three turns, median. A second run with --history FILE uses what the first wrote.
"""
import argparse
import datetime
import json
import pathlib
import random
import resource
import statistics
import subprocess
import sys
import tempfile
import time

YEAR, CLIENTS, GPUS_OF_A_MACHINE, HOURLY = 2025, 20, 8, "21.957642"
METRICS = ("DCGM_FI_DEV_GPU_UTIL", "DCGM_FI_DEV_FB_USED", "DCGM_FI_DEV_POWER_USAGE", "DCGM_FI_DEV_GPU_TEMP")
TURNS = 3
FOCUS_COLUMNS = ("BilledCost,EffectiveCost,BillingCurrency,BillingAccountId,BillingPeriodStart,BillingPeriodEnd,ChargePeriodStart,ChargePeriodEnd,"
                 "ChargeCategory,ChargeDescription,PricingCategory,PricingQuantity,PricingUnit,ProviderName,RegionId,ResourceId,ResourceName,"
                 "ResourceType,ServiceCategory,ServiceName,SkuId,Tags\n")


def utc(*fields):
    return datetime.datetime(*fields, tzinfo=datetime.timezone.utc)


def stamp(t):
    return t.strftime("%Y-%m-%dT%H:%M:%SZ")


def month_bounds(month):
    return utc(YEAR, month, 1), utc(YEAR + month // 12, month % 12 + 1, 1)


def write_bill(path, month, machines):
    """@return the invoice's total in microdollars: hourly lines, and one of storage a day."""
    begin, end = month_bounds(month)
    total = 0
    with path.open("w") as file:
        file.write(FOCUS_COLUMNS)
        t = begin
        while t < end:
            until = t + datetime.timedelta(hours=ARGS.line_hours)
            amount = f"{21_957_642 * ARGS.line_hours / 1e6:.6f}"
            for m in range(machines):
                file.write(f"{amount},{amount},USD,4711,{stamp(begin)},{stamp(end)},{stamp(t)},{stamp(until)},Usage,machine,Standard,{ARGS.line_hours},Hours,AWS,"
                           f"us-east-1,i-{m:017x},gpu-{m:04},instance,Compute,Amazon Elastic Compute Cloud,p4d.24xlarge,{{}}\n")
                total += 21_957_642 * ARGS.line_hours
            if t.hour == 0:
                day = stamp(t + datetime.timedelta(days=1))
                file.write(f"310.5,310.5,USD,4711,{stamp(begin)},{stamp(end)},{stamp(t)},{day},Usage,disks,Standard,3105,GB-Day,AWS,us-east-1,,,,"
                           "Storage,Amazon S3,disks,{}\n")
                total += 310_500_000
            t = until
    return total


def write_jobs(path, month, machines, chance):
    """A machine runs four jobs a day of 5 h 30 min each; every eighth is left free."""
    begin, end = month_bounds(month)
    with path.open("w") as file:
        file.write("JobID|JobName|User|Account|Partition|State|Submit|Start|End|Elapsed|Timelimit|ReqTRES|AllocTRES|NodeList|ExitCode\n")
        job, t = month * 1_000_000, begin
        while t < end:
            stop = t + datetime.timedelta(hours=5, minutes=30)
            for m in range(machines):
                job += 1
                if job % 8 == 0:
                    continue
                start, ended = stamp(t)[:-1], stamp(stop)[:-1]
                client = chance.randrange(CLIENTS)
                tres = f"billing=96,cpu=96,gres/gpu={GPUS_OF_A_MACHINE},mem=1000G,node=1"
                file.write(f"{job}|train-{client}-{job % 5}|user{client}|client-{client:02}|gpu|COMPLETED|{start}|{start}|{ended}|05:30:00|08:00:00|{tres}|"
                           f"{tres}|gpu-{m:04}|0:0\n")
            t += datetime.timedelta(hours=6)


def write_telemetry(path, month, gpus, chance):
    begin, end = month_bounds(month)
    hours = int((end - begin).total_seconds()) // 3600
    times = [f'[{int(begin.timestamp()) + 3600 * h},"' for h in range(hours)]
    with path.open("w") as file:
        file.write('{"status":"success","data":{"resultType":"matrix","result":[')
        for gpu in range(gpus):
            for i, metric in enumerate(METRICS):
                values = chance.choices(("0", "37", "71", "88", "93") if i == 0 else ("24300", "31100", "38800") if i == 1 else ("61", "244", "387"), k=hours)
                labels = {"__name__": metric, "Hostname": f"gpu-{gpu // GPUS_OF_A_MACHINE:04}", "UUID": f"GPU-{gpu:08x}-0000-4000-8000-000000000000",
                          "gpu": str(gpu % GPUS_OF_A_MACHINE), "modelName": "NVIDIA A100-SXM4-40GB"}
                file.write(("," if gpu or i else "") + '{"metric":' + json.dumps(labels) + ',"values":[' +
                           ",".join(t + v + '"]' for t, v in zip(times, values)) + "]}\n")
        file.write("]}}")


def stint(*command):
    subprocess.run([ARGS.stint, *map(str, command)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)


def make_year(folder, history):
    chance, machines = random.Random(1), ARGS.gpus // GPUS_OF_A_MACHINE
    inventory = folder / "inventory.csv"
    inventory.write_text("node,resource_id,provider,region,instance_type,market,gpu_model,gpu_count,rate_per_hour,currency\n" + "".join(
        f"gpu-{m:04},i-{m:017x},aws,us-east-1,p4d.24xlarge,on-demand,A100-40GB,{GPUS_OF_A_MACHINE},{HOURLY},USD\n" for m in range(machines)))
    stint("import", "inventory", inventory, "--history", history)
    invoices = ["provider,account,month,total\n"]
    for month in range(1, ARGS.months + 1):
        total = write_bill(folder / "bill.csv", month, machines)
        invoices.append(f"aws,4711,{YEAR}-{month:02},{total // 1_000_000}.{total % 1_000_000:06}\n")
        write_jobs(folder / "jobs.txt", month, machines, chance)
        write_telemetry(folder / "telemetry.json", month, machines * GPUS_OF_A_MACHINE, chance)
        for kind, name in (("focus", "bill.csv"), ("sacct", "jobs.txt"), ("prometheus", "telemetry.json")):
            stint("import", kind, folder / name, "--history", history)
            (folder / name).unlink()
        print(f"{YEAR}-{month:02} is written: {total / 1e6:,.2f} USD", file=sys.stderr)
    pathlib.Path(f"{history}.invoices.csv").write_text("".join(invoices))


def timed(command):
    """@return its wall and processor seconds. It must succeed: a month that differs from its invoice by a cent ends it with 3."""
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    stint(*command)
    wall, after = time.monotonic() - began, resource.getrusage(resource.RUSAGE_CHILDREN)
    return wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def close_year(history, folder):
    took = timed(("close", "--history", history, "--month", f"{YEAR}-01", "--through", f"{YEAR}-{ARGS.months:02}", "--invoices", f"{history}.invoices.csv",
                  "--folder", folder / "books", "--again"))
    for month in range(1, ARGS.months + 1):
        if len(list((folder / "books" / f"{YEAR}-{month:02}" / "statements").iterdir())) != CLIENTS:
            sys.exit("not every client has its statement")
    return took


def single_commands(history, folder, month):
    period = ("--history", history, "--month", f"{YEAR}-{month:02}")
    return {command[0]: timed((command[0], *period, *command[1:])) for command in (
        ("bill", "--json", "-o", folder / "bill.json"), ("reconcile", "--invoices", f"{history}.invoices.csv", "--json"),
        ("statements", "--folder", folder / f"{month:02}"))}


def medians(times):
    return {"wall_s": round(statistics.median(wall for wall, _ in times), 3), "processor_s": round(statistics.median(cpu for _, cpu in times), 3)}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        history = pathlib.Path(ARGS.history or folder / "year.db")
        if not history.exists():
            make_year(folder, history)
        years, single = [], {}
        for _ in range(TURNS):
            years.append(close_year(history, folder))
            for month in range(1, ARGS.months + 1):
                for command, took in single_commands(history, folder, month).items():
                    single.setdefault(command, []).append(took)
        print(json.dumps({"gpus": ARGS.gpus, "months": ARGS.months, "line_hours": ARGS.line_hours, "history_mb": round(history.stat().st_size / 1e6),
                          "close_of_all_months": medians(years), "turns": [[round(wall, 2), round(cpu, 2)] for wall, cpu in years],
                          "single_command_of_a_month": {command: medians(times) for command, times in single.items()}}, indent=2))


parser = argparse.ArgumentParser()
parser.add_argument("stint")
parser.add_argument("--gpus", type=int, default=1000)
parser.add_argument("--months", type=int, default=12)
parser.add_argument("--line-hours", type=int, default=24, choices=(1, 24), help="a bill line is of so many hours")
parser.add_argument("--history")
ARGS = parser.parse_args()
main()
