// The gate's answer for people and for CI: lines for a log, annotations, JUnit XML. Pure.
import type { GateResult } from '../parity/gate.ts';

const MEANING: Readonly<Record<number, string>> = {
  0: 'PASS: every gated cell holds its floor.',
  1: 'BELOW-FLOOR: a loss is proven.',
  2: 'REFUSED: the gate or its input is wrong.',
  3: 'VOID: the measurement may not be used.',
  4: 'PENDING: nothing is proven, neither way.',
};

/** One line a reason, those that decide first. */
export function gateLines({ exitCode, reasons, attempts }: GateResult): string[] {
  const sorted = [
    ...reasons.filter(({ decides }) => decides),
    ...reasons.filter(({ decides }) => !decides),
  ];
  const lines = sorted.map(({ code, cell, message, decides }) => {
    const place = cell === undefined ? '' : ` ${cell}`;
    return `${decides ? '' : 'note '}${code}${place}: ${message}`;
  });
  const pooled = attempts > 1 ? ` ${attempts} attempts were pooled.` : '';
  return [`${MEANING[exitCode]}${pooled}`, ...lines];
}

/** Annotations that GitHub shows beside a change. */
export function gateAnnotations({ reasons }: GateResult): string[] {
  return reasons.map(({ code, cell, message, decides }) => {
    const title = cell === undefined ? code : `${code} ${cell}`;
    const text = message.replaceAll('%', '%25').replaceAll('\n', '%0A');
    return `::${decides ? 'error' : 'notice'} title=bench gate ${title}::${text}`;
  });
}

/** One test case a cell, and one for what concerns the whole. */
export function gateJunit({ reasons, campaign }: GateResult): string {
  const whole = { name: 'gate', own: reasons.filter(({ cell }) => cell === undefined) };
  const cells = (campaign?.cells ?? []).map(({ key }) => ({
    name: key,
    own: reasons.filter(({ cell }) => cell === key),
  }));
  const cases = [whole, ...cells];
  const failed = cases.filter(({ own }) => own.some(({ decides }) => decides)).length;
  const bodies = cases.map(({ name, own }) => {
    const failures = own
      .filter(({ decides }) => decides)
      .map(
        ({ code, message }) => `<failure type="${escaped(code)}" message="${escaped(message)}"/>`,
      );
    return `  <testcase classname="bench.gate" name="${escaped(name)}">${failures.join('')}</testcase>`;
  });
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuite name="bench gate" tests="${cases.length}" failures="${failed}">`,
    ...bodies,
    '</testsuite>',
    '',
  ].join('\n');
}

function escaped(text: string): string {
  const names: Record<string, string> = { '&': 'amp', '<': 'lt', '>': 'gt', '"': 'quot' };
  return text.replaceAll(/[&<>"]/g, (letter) => `&${names[letter]};`);
}
