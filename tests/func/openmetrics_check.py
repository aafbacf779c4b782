#!/usr/bin/python3
# SPDX-License-Identifier: BSD-2-Clause
"""Reads OpenMetrics text with Prometheus's own parser; prints what it holds.

Standard input: the text. Standard output: JSON, {family: {type, unit, help,
samples: [[name, labels, value]...]}}. Run by Debian's interpreter, which is
the one that the package python3-prometheus-client is for. Exits 77 without it.
"""
import json
import sys

try:
    from prometheus_client.openmetrics.parser import text_string_to_metric_families
except ImportError:
    print("python3-prometheus-client is not installed", file=sys.stderr)
    sys.exit(77)


def main():
    families = {}
    for family in text_string_to_metric_families(sys.stdin.read()):
        families[family.name] = {
            "type": family.type, "unit": family.unit, "help": family.documentation,
            "samples": [[s.name, s.labels, s.value] for s in family.samples]}
    json.dump(families, sys.stdout)


main()
