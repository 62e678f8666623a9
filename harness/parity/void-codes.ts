// The one table of reasons why a measurement may not be used: what was seen, how far it reaches, whether the work may be
// done again, and what a person does next (statistics section 2.9). Codes come from outside signals, never from the result.

/** How much a code takes with it. */
type VoidScope = 'pair' | 'launch' | 'cell' | 'session' | 'campaign' | 'record';

/**
 * exogenous: caused from outside, so a new pair may replace it. endogenous: an arm can cause it itself, so doing it again
 * would select for good luck: the cell is VOID and never redone. client: more client capacity is needed, not another
 * try. session: nothing of the session holds. demotion: the numbers stand but bind nobody.
 */
type VoidClass = 'exogenous' | 'endogenous' | 'client' | 'session' | 'demotion';

interface VoidCodeEntry {
  class: VoidClass;
  scope: VoidScope;
  /** What was seen, in one sentence. */
  sentence: string;
  /** What to do next. */
  hint: string;
}

const TABLE = {
  contended: {
    class: 'exogenous',
    scope: 'pair',
    sentence:
      'Other programs used more of the CPU than the limit, or differed between the two legs.',
    hint: 'Stop what else runs on this machine, or calibrate the limit with: bench sweep --aa',
  },
  not_quiet: {
    class: 'exogenous',
    scope: 'pair',
    sentence: 'The machine did not become quiet before the leg within the wait that was planned.',
    hint: 'Stop what else runs on this machine, or measure at another time.',
  },
  throttled: {
    class: 'exogenous',
    scope: 'pair',
    sentence: 'The processor or the GPU was throttled during a leg.',
    hint: 'Check cooling and power limits, then run again.',
  },
  clock_unstable: {
    class: 'exogenous',
    scope: 'pair',
    sentence: 'Clocks moved within a leg, differed between the arms, or were sampled too rarely.',
    hint: 'Fix the clocks (persistence mode, application clocks) or let the device warm up.',
  },
  client_saturated: {
    class: 'client',
    scope: 'cell',
    sentence: 'The load generator was near its own limit, so its delays are in the numbers.',
    hint: 'Give the client more cores or threads; another try changes nothing.',
  },
  requests_failed: {
    class: 'endogenous',
    scope: 'cell',
    sentence: 'Requests failed, timed out or were aborted.',
    hint: "Read the failures in the record and the server's log; the cell is not measured again.",
  },
  length_mismatch: {
    class: 'endogenous',
    scope: 'cell',
    sentence: 'Output or prompt lengths were not those asked for, or differed between the arms.',
    hint: 'Check that the server honours ignore_eos and that both arms use the same tokenizer.',
  },
  cache_mismatch: {
    class: 'endogenous',
    scope: 'cell',
    sentence: 'Prefix-cache setting or hit rate differed between the arms.',
    hint: 'Switch the prefix cache off on both sides, or declare the same policy for both.',
  },
  concurrency_not_reached: {
    class: 'endogenous',
    scope: 'cell',
    sentence: 'The planned number of requests was not in flight for 90 % of the leg.',
    hint: 'Check admission limits of the server (max-num-seqs, KV memory).',
  },
  leg_too_short: {
    class: 'endogenous',
    scope: 'cell',
    sentence: 'The steady part of a leg was shorter than planned.',
    hint: 'Plan more requests a leg.',
  },
  page_cache_warm: {
    class: 'endogenous',
    scope: 'cell',
    sentence: 'A cold-load leg began with pages of the model in memory.',
    hint: 'Drop the page cache of the model file before each cold start.',
  },
  memory_not_returned: {
    class: 'endogenous',
    scope: 'launch',
    sentence: 'Memory had not come back to its baseline before the next launch.',
    hint: 'Look for a server that did not end; see: bench doctor',
  },
  value_unusable: {
    class: 'endogenous',
    scope: 'cell',
    sentence: 'A value was missing, zero, not finite or outside of what its unit allows.',
    hint: 'Check the unit and the raw data of the leg; a ratio of 0 or infinity is never quoted.',
  },
  harness_error: {
    class: 'endogenous',
    scope: 'cell',
    sentence:
      'The harness itself failed in a leg: a parse error, a missing file or a counter reset.',
    hint: 'Report it with the record; the leg proves nothing about either arm.',
  },
  over_voided: {
    class: 'endogenous',
    scope: 'cell',
    sentence: 'More than 40 % of the pairs of the cell were void.',
    hint: 'Measure on a quieter machine; what is left would be a selection.',
  },
  replacement_refused: {
    class: 'endogenous',
    scope: 'cell',
    sentence: 'A pair replaces one that was valid, not repairable, missing or already replaced.',
    hint: 'Only pairs that an outside disturbance voided may be measured again, once each.',
  },
  boot_changed: {
    class: 'session',
    scope: 'session',
    sentence: 'The machine was started anew within the series.',
    hint: 'Start a new session; pairs of two boots are not one series.',
  },
  token_mismatch: {
    class: 'session',
    scope: 'campaign',
    sentence: 'The arms gave different tokens beyond the declared near-tie policy.',
    hint: 'Find the cause first: speed of different answers is not compared.',
  },
  arms_identical: {
    class: 'session',
    scope: 'campaign',
    sentence: 'Both arms ran the same binary in a run that compares two.',
    hint: 'Check the arms file; use --aa to measure one server against itself.',
  },
  arms_swapped: {
    class: 'session',
    scope: 'campaign',
    sentence: 'An arm ran a binary other than the planned one.',
    hint: 'Build the planned revision again and run anew.',
  },
  config_unproven: {
    class: 'session',
    scope: 'campaign',
    sentence: 'The resolved configuration of a server was not captured.',
    hint: 'Use a server that reports its configuration, or a preset that can read it.',
  },
  dirty_tree: {
    class: 'demotion',
    scope: 'record',
    sentence: 'The source tree had changes that are not committed.',
    hint: 'Commit, then run again for a binding record.',
  },
  order_blocked: {
    class: 'demotion',
    scope: 'record',
    sentence: 'The arms were not run in mirrored pairs, so drift is in the ratio.',
    hint: 'Run with the default order; one arm after the other never binds.',
  },
} as const satisfies Record<string, VoidCodeEntry>;

export type VoidCode = keyof typeof TABLE;

export const VOID_CODES = Object.keys(TABLE) as VoidCode[];

/** The row of a code. */
export function voidCode(code: VoidCode): VoidCodeEntry & { code: VoidCode } {
  return { code, ...TABLE[code] };
}

/** Whether a pair with this code may be measured again. */
export function isRepairable(code: VoidCode): boolean {
  return TABLE[code].class === 'exogenous';
}
