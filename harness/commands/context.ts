// What every command is given by cli.ts, so that no command reads the environment or the time by itself.

export interface CommandContext {
  /** Raised by the first Ctrl-C or SIGTERM: keep what was measured and end in order. */
  signal: AbortSignal;
  /** Runs of one scope exclude each other. */
  lockScope: string;
  /** Where what can be made again is kept. */
  cacheFolder: string;
  /** Annotations are read there. */
  onGitHub: boolean;
  /** The time of day, for records only. */
  now: () => Date;
}
