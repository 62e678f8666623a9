// What every route may use. The engine is seen through its interface only.
import type { Logger } from 'pino';
import type { Admission } from '../frontend/admission.ts';
import type { EngineClient } from '../frontend/engine-client.ts';
import type { ServedModel } from '../frontend/served-model.ts';
import type { Metrics } from './metrics.ts';

export interface HttpSettings {
  version: string;
  /** Keys that open the guarded paths; none leaves them open. */
  apiKeys: readonly string[];
  debugEndpoints: boolean;
  bodyLimitBytes: number;
  /** What a reader may leave unread of one reply before the request is aborted. */
  unreadLimitBytes: number;
  requestTimeoutMs: number;
  /** The resolved configuration as /server_info shows it, without secrets. */
  shownConfig: Readonly<Record<string, unknown>>;
}

export interface AppContext {
  engine: EngineClient;
  model: ServedModel;
  admission: Admission;
  metrics: Metrics;
  settings: HttpSettings;
  log: Logger;
}
