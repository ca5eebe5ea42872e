import type { ApiServer } from '../../api/server.ts';
import { startApi } from '../../api/server.ts';
import { CollectedLog } from '../../dev/local/environment/collectedLog.ts';
import type { Clock } from '../../shared/lib/clock.ts';
import { parseConfig, setConfig } from '../../shared/lib/config.ts';
import { openService, type Service } from '../../shared/service.ts';
import { startWorker, type WorkerHandle } from '../../worker/worker.ts';
import { findThumbnailProgram } from './builtPrograms.ts';
import { recordLog } from './testLogs.ts';
import type { ServiceHandle } from './serviceProcess.ts';

/**
 * The single service in the test's own process: an API server on a real port, a worker on real queues, or both. They
 * share the connections of one open service, as `openService` opens them for a process.
 */
export class InProcessService {
  /** True if this process runs one already; another service of the same file then uses processes of its own. */
  static isInUse = false;

  readonly #log = new CollectedLog(recordLog);
  readonly #env: Record<string, string>;
  readonly #clock: Clock;
  #service: Promise<Service> | undefined;

  constructor(env: Record<string, string>, clock: Clock) {
    InProcessService.isInUse = true;
    this.#env = env;
    this.#clock = clock;
  }

  /** @param env PORT, HOST and BASE_URL of the server. */
  async startApi(env: Record<string, string>): Promise<ServiceHandle> {
    return this.#part(async (): Promise<ApiServer> => {
      await this.#open(env);
      return startApi();
    });
  }

  async startWorker(): Promise<ServiceHandle> {
    return this.#part(async (): Promise<WorkerHandle> => {
      await this.#open({});
      return startWorker();
    });
  }

  async close(): Promise<void> {
    const service = await this.#service;
    this.#service = undefined;
    await service?.close();
    // The next file of this process may read the catalog without a service.
    if (service !== undefined) setConfig({ ...service.config, CATALOG: undefined });
    InProcessService.isInUse = false;
  }

  /** The first caller decides: PORT and BASE_URL are those of the API. */
  #open(env: Record<string, string>): Promise<Service> {
    const config = () => parseConfig({ NODE_ENV: 'test', ...this.#env, ...env });
    const thumbnailProgram = findThumbnailProgram();
    this.#service ??= openService(config(), { clock: this.#clock, log: this.#log, thumbnailProgram });
    return this.#service;
  }

  async #part(start: () => Promise<{ close(): Promise<void> }>): Promise<ServiceHandle> {
    const part = await start();
    let closed: Promise<void> | undefined;
    const stop = async () => {
      closed ??= part.close();
      await closed;
      return 0;
    };
    return {
      logs: () => this.#log.text,
      waitForLog: (text, timeoutMs) => this.#log.waitFor(text, timeoutMs),
      stop,
      kill: async () => void (await stop()),
    };
  }
}
