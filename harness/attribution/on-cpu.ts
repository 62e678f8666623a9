// The on-CPU phase: samples of all threads of the server at a fixed rate while exact CPU times are taken at both ends of
// the same window. It records and reads; what the samples mean is decided elsewhere.
import { join } from 'node:path';
import { type Folded, Folder, isPerfMap } from './folding.ts';
import {
  type AckedAt,
  lostEvents,
  type OpenedEvent,
  openedEvents,
  perfReport,
  Recording,
  type RecordingResult,
} from './perf-process.ts';
import { type ParseCounts, PerfScriptParser, SAMPLE_FIELDS } from './perf-script-parser.ts';
import { snapshot } from './proc-tree.ts';
import type { TreeSnapshot } from './schedstat.ts';
import type { Classify } from './symbol-classes.ts';

export interface OnCpuCapture {
  result: RecordingResult;
  enabled: AckedAt;
  disabled: AckedAt;
  /** Exact times just inside the window. */
  before: TreeSnapshot;
  after: TreeSnapshot;
  frequency: number;
}

/** Samples the processes for as long as `window` takes; the event is cpu-clock, which every host has. */
export async function recordOnCpu(options: {
  pids: readonly number[];
  folder: string;
  frequency: number;
  window: () => Promise<void>;
}): Promise<OnCpuCapture> {
  const { pids, folder, frequency } = options;
  const recording = await Recording.start(
    ['-F', String(frequency), '-e', 'cpu-clock', '--sample-cpu', '-g', '-p', pids.join(',')],
    join(folder, 'on-cpu.data'),
  );
  try {
    const enabled = await recording.enable();
    const before = snapshot(pids);
    await options.window();
    const after = snapshot(pids);
    const disabled = await recording.disable();
    return { result: await recording.stop(), enabled, disabled, before, after, frequency };
  } catch (error) {
    await recording.abandon();
    throw error;
  }
}

export interface OnCpuProfile {
  folded: Folded;
  counts: ParseCounts;
  events: OpenedEvent[];
  lost: number;
  /** Samples outside the acknowledged window: the clocks do not agree. */
  outside: number;
  stderr: string;
}

/** A name for a frame that perf could not name, such as a JavaScript function of a container. */
export type ResolveFrame = (dso: string, ip: string) => string | undefined;

/** Reads a capture back; needs the server's JavaScript map, so call it before the server stops or after copying it. */
export async function readOnCpu(
  capture: OnCpuCapture,
  classify: Classify,
  resolve: ResolveFrame = () => undefined,
): Promise<OnCpuProfile> {
  const folder = new Folder(classify);
  let outside = 0;
  const parser = new PerfScriptParser((sample) => {
    if (sample.timeNs < capture.enabled.sentNs || sample.timeNs > capture.disabled.ackedNs)
      outside += 1;
    for (const frame of sample.frames)
      if (frame.symbol === '[unknown]' && isPerfMap(frame.dso))
        frame.symbol = resolve(frame.dso, frame.ip) ?? frame.symbol;
    folder.add(sample);
  });
  const file = capture.result.file;
  const { stderr } = await perfReport(
    ['script', '--no-inline', '--ns', '-i', file, '-F', SAMPLE_FIELDS],
    (chunk) => parser.push(chunk),
  );
  return {
    counts: parser.end(),
    folded: folder.result(),
    events: await openedEvents(file),
    lost: await lostEvents(file),
    outside,
    stderr: [capture.result.stderr.trim(), stderr.trim()].filter((part) => part !== '').join('\n'),
  };
}
