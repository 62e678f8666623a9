// Progress of a run, on standard error: a bar with an estimate on a terminal, plain lines elsewhere, so that standard output
// holds results only.
import { Presets, SingleBar } from 'cli-progress';

export interface RunProgress {
  /** What is being waited for. */
  stage(text: string): void;
  /** Work done and to be done in any unit; the rest is estimated in seconds where it is known. */
  advance(done: number, total: number, remainingSeconds: number | undefined): void;
  /** A line that stays. */
  line(text: string): void;
  end(): void;
}

/** The form that suits the stream. */
export function progressOn(stream: NodeJS.WriteStream): RunProgress {
  return stream.isTTY ? barOn(stream) : linesOn(stream);
}

function barOn(stream: NodeJS.WriteStream): RunProgress {
  const bar = new SingleBar(
    {
      stream,
      format: '{bar} {percentage}% | {rest} | {what}',
      hideCursor: true,
      clearOnComplete: true,
    },
    Presets.shades_classic,
  );
  let started = false;
  let what = '';
  const stop = () => {
    if (started) bar.stop();
    started = false;
  };
  return {
    stage(text) {
      what = text;
      if (started) bar.update({ what });
      else stream.write(`${text} ...\n`);
    },
    advance(done, total, remainingSeconds) {
      const payload = { what, rest: restOf(remainingSeconds) };
      if (!started) bar.start(1000, 0, payload);
      started = true;
      bar.update(Math.min(1000, Math.round((1000 * done) / total)), payload);
    },
    line(text) {
      stop();
      stream.write(`${text}\n`);
    },
    end: stop,
  };
}

/** Plain lines no closer together than this, so that a log stays readable. */
const LINE_INTERVAL_NS = 10_000_000_000n;

function linesOn(stream: NodeJS.WriteStream): RunProgress {
  let lastNs = 0n;
  let what = '';
  return {
    stage(text) {
      what = text;
      lastNs = process.hrtime.bigint();
      stream.write(`${text} ...\n`);
    },
    advance(done, total, remainingSeconds) {
      const nowNs = process.hrtime.bigint();
      if (nowNs - lastNs < LINE_INTERVAL_NS) return;
      lastNs = nowNs;
      const percent = Math.floor((100 * done) / total);
      stream.write(`${what}: ${percent} % of the sweep, ${restOf(remainingSeconds)}\n`);
    },
    line(text) {
      stream.write(`${text}\n`);
    },
    end: () => undefined,
  };
}

function restOf(seconds: number | undefined): string {
  if (seconds === undefined) return 'time left unknown';
  return seconds < 90 ? `${Math.ceil(seconds)} s left` : `${Math.ceil(seconds / 60)} min left`;
}
