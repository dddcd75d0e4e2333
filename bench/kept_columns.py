#!/usr/bin/env python3
"""What do the columns that Stint only keeps for FOCUS out cost, in time and in the History's size?

Usage: bench/kept_columns.py STINT [--machines 125]. Writes a month of AWS Cost and Usage Report 2.0 as an account of that many GPU
machines gets it: every machine and hour with its disk and its transfer (279,000 lines for 125), 60 columns of which about 45 say
something. Imports it whole, and without the columns that are only kept; prints for both: the file, the import's seconds, the
History's size, and the processor seconds of `stint bill` and of FOCUS out. Three turns, median.
"""
import argparse
import csv
import datetime
import json
import os
import pathlib
import resource
import statistics
import subprocess
import tempfile
import time

TURNS = 3
USED = ("bill_billing_entity bill_billing_period_end_date bill_billing_period_start_date bill_invoice_id bill_payer_account_id "
        "line_item_availability_zone line_item_currency_code line_item_line_item_description line_item_line_item_type line_item_product_code "
        "line_item_resource_id line_item_unblended_cost line_item_usage_account_id line_item_usage_amount line_item_usage_end_date "
        "line_item_usage_start_date line_item_usage_type pricing_public_on_demand_cost pricing_public_on_demand_rate pricing_term pricing_unit "
        "product_instance_type product_product_family product_region_code product_sku resource_tags").split()
PRODUCT = json.dumps({"vcpu": "96", "memory": "1152 GiB", "gpu": "8", "gpu_memory": "NA", "storage": "8 x 1000 SSD", "network_performance": "400 Gigabit",
                      "processor_architecture": "64-bit", "operating_system": "Linux", "tenancy": "Shared", "license_model": "No License required",
                      "physical_processor": "Intel Xeon Platinum 8275L", "instance_family": "GPU instance", "region": "us-east-1",
                      "location": "US East (N. Virginia)", "location_type": "AWS Region", "marketoption": "OnDemand", "normalization_size_factor": "192",
                      "pre_installed_sw": "NA", "capacitystatus": "Used", "enhanced_networking_supported": "Yes"}, separators=(",", ":"))


def stamp(t):
    return t.strftime("%Y-%m-%dT%H:%M:%S.000Z")


def row(serial, machine, kind, t):
    """@return a line of the report by column, of a machine's hour."""
    until = t + datetime.timedelta(hours=1)
    usage, operation, family, unit, amount, rate, what = (
        ("BoxUsage:p4d.24xlarge", "RunInstances", "Compute Instance", "Hrs", "1.0", "21.957642", "$21.957642 per On Demand Linux p4d.24xlarge Instance Hour"),
        ("EBS:VolumeUsage.gp3", "CreateVolume-Gp3", "Storage", "GB-Mo", "1.3440860215", "0.08", "$0.08 per GB-month of General Purpose (gp3) provisioned storage"),
        ("DataTransfer-Regional-Bytes", "InterZone-In", "Data Transfer", "GB", "3.2", "0.01", "$0.010 per GB - regional data transfer in/out/between EC2 AZs"))[kind]
    cost = f"{float(amount) * float(rate):.10f}"
    identifier = f"{serial * 2654435761 % (1 << 128):032x}{serial:016x}"
    return {
        "bill_bill_type": "Anniversary", "bill_billing_entity": "AWS", "bill_billing_period_end_date": "2026-11-01T00:00:00.000Z",
        "bill_billing_period_start_date": "2026-10-01T00:00:00.000Z", "bill_invoice_id": "2026100471", "bill_invoicing_entity": "Amazon Web Services, Inc.",
        "bill_payer_account_id": "482910337765", "bill_payer_account_name": "Payer of the group", "cost_category": "{}", "discount": "{}",
        "discount_bundled_discount": "0.0", "discount_total_discount": "0.0", "identity_line_item_id": identifier,
        "identity_time_interval": f"{stamp(t)[:-5]}Z/{stamp(until)[:-5]}Z", "line_item_availability_zone": "us-east-1a", "line_item_blended_cost": cost,
        "line_item_blended_rate": rate, "line_item_currency_code": "USD", "line_item_legal_entity": "Amazon Web Services, Inc.",
        "line_item_line_item_description": what, "line_item_line_item_type": "Usage", "line_item_net_unblended_cost": cost, "line_item_net_unblended_rate": rate,
        "line_item_normalization_factor": "192.0", "line_item_normalized_usage_amount": "192.0", "line_item_operation": operation,
        "line_item_product_code": "AmazonEC2", "line_item_resource_id": f"{'vol' if kind == 1 else 'i'}-{machine:017x}", "line_item_tax_type": "",
        "line_item_unblended_cost": cost, "line_item_unblended_rate": rate, "line_item_usage_account_id": "482910337765",
        "line_item_usage_account_name": "research", "line_item_usage_amount": amount, "line_item_usage_end_date": stamp(until),
        "line_item_usage_start_date": stamp(t), "line_item_usage_type": usage, "pricing_currency": "USD", "pricing_lease_contract_length": "",
        "pricing_offering_class": "", "pricing_public_on_demand_cost": cost, "pricing_public_on_demand_rate": rate, "pricing_purchase_option": "",
        "pricing_rate_code": "H7NGEAC6UEHNTKSJ.JRTCKXETXF.6YS6EN2CT7", "pricing_rate_id": "25109863417", "pricing_term": "OnDemand", "pricing_unit": unit,
        "product": PRODUCT if kind == 0 else '{"region":"us-east-1","location":"US East (N. Virginia)"}', "product_from_location": "", "product_instance_family": "GPU instance" if kind == 0 else "",
        "product_instance_type": "p4d.24xlarge" if kind == 0 else "", "product_location": "US East (N. Virginia)", "product_operation": operation,
        "product_pricing_unit": unit, "product_product_family": family, "product_region_code": "us-east-1", "product_servicecode": "AmazonEC2",
        "product_sku": "H7NGEAC6UEHNTKSJ", "product_usagetype": usage, "resource_tags": json.dumps({"user_client": f"client-{machine % 20:02}", "user_project": f"p{machine % 7}"}),
    }


def write_report(path, machines):
    begin, lines = datetime.datetime(2026, 10, 1), 0
    with path.open("w", newline="") as file:
        out = None
        for hour in range(744):
            for machine in range(machines):
                for kind in range(3):
                    line = row(lines, machine, kind, begin + datetime.timedelta(hours=hour))
                    if out is None:
                        out = csv.DictWriter(file, line)
                        out.writeheader()
                    out.writerow(line)
                    lines += 1
    return lines


def processor(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([ARGS.stint, *map(str, command)], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure(report, folder):
    times = {"import": [], "bill": [], "focus_out": []}
    began = time.monotonic()
    for turn in range(TURNS):
        history = folder / f"{report.stem}-{turn}.db"
        times["import"].append(processor("import", "cur", report, "--history", history))
        times["bill"].append(processor("bill", "--history", history, "--month", "2026-10", "--json"))
        times["focus_out"].append(processor("bill", "--history", history, "--month", "2026-10", "--format", "focus", "-o", folder / "out.csv"))
        size = history.stat().st_size
        for name in folder.glob(history.name + "*"):
            os.unlink(name)
    return {"report_mb": round(report.stat().st_size / 1e6, 1), "history_mb": round(size / 1e6, 1), "wall_s_of_all": round(time.monotonic() - began, 1),
            "processor_s": {command: round(statistics.median(seconds), 2) for command, seconds in times.items()}}


def main():
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        whole, bare = folder / "whole.csv", folder / "bare.csv"
        lines = write_report(whole, ARGS.machines)
        with whole.open(newline="") as source, bare.open("w", newline="") as target:
            reader, out = csv.DictReader(source), csv.DictWriter(target, USED, extrasaction="ignore")
            out.writeheader()
            out.writerows(reader)
        print(json.dumps({"lines": lines, "whole": measure(whole, folder), "without_kept_columns": measure(bare, folder)}, indent=2))


parser = argparse.ArgumentParser()
parser.add_argument("stint")
parser.add_argument("--machines", type=int, default=125)
ARGS = parser.parse_args()
main()
