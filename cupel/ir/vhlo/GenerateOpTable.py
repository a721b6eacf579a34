#!/usr/bin/env python3
"""Interim: the op table from a listing."""
import argparse

def slots(text):
    return [] if text == '-' else [(s.rstrip('*'), s.endswith('*')) for s in text.split(', ')]

def main():
    ap = argparse.ArgumentParser()
    ap.add_argument('--listing'); ap.add_argument('--table')
    a = ap.parse_args()
    ops = []
    for line in open(a.listing):
        if line.startswith('#'): continue
        n, lo, hi, o, at, r, res = [x.strip() for x in line.rstrip('\n').split(' | ')]
        ops.append((n, lo, hi, slots(o), [] if at == '-' else at.split(', '), slots(r), slots(res)))
    ops.sort()
    out = []
    rows = []
    def arr(kind, i, vals, fmt):
        if not vals: return '{}'
        name = f'k{kind}{i}'
        typ = 'StringLiteral' if kind == 'Attributes' else 'Slot'
        out.append(f'constexpr {typ} {name}[] = {{{", ".join(fmt(v) for v in vals)}}};')
        return name
    sl = lambda s: '{"%s", %s}' % (s[0], 'true' if s[1] else 'false')
    for i, (n, lo, hi, o, at, r, res) in enumerate(ops):
        base, rev = n.rsplit('_v', 1)
        ver = lambda v: '{%s, %s, 0}' % tuple(v.split('.'))
        rows.append('    {"%s", "%s", %s, %s, %s, %s, %s, %s, %s},' % (n, base, rev, ver(lo), ver(hi),
            arr('Operands', i, o, sl), arr('Attributes', i, at, lambda s: f'"{s}"'), arr('Regions', i, r, sl), arr('Results', i, res, sl)))
    open(a.table, 'w').write('\n'.join(out) + '\nconstexpr OpInfo kOps[] = {\n' + '\n'.join(rows) + '\n};\n')
main()
