import { Cluster, type ClusterNode, Redis, type RedisOptions } from 'ioredis';

type ClusterOptions = NonNullable<ConstructorParameters<typeof Cluster<'legacy'>>[1]>;

/** Wait before a connection that ioredis has given up is made again. */
const REOPEN_DELAY_MS = 200;

/**
 * A connection that ends only when it is closed. ioredis gives a connection up for good if a Sentinel reports a
 * failover while it connects, as it does when the old master has just died. Duplicates, such as those of BullMQ's
 * workers, are made again as well.
 */
export class ReconnectingRedis extends Redis {
  #isClosed = false;

  constructor(options: Omit<RedisOptions, 'replyMapping'>) {
    super(options);
    this.on('end', () => this.#reopen());
  }

  /** True once the connection was closed on purpose, until it is opened again. */
  get isClosed(): boolean {
    return this.#isClosed;
  }

  override connect(): Promise<void> {
    // The constructor of ioredis connects before this class has its fields.
    if (#isClosed in this) this.#isClosed = false;
    return super.connect();
  }

  override disconnect(reconnect = false): void {
    if (!reconnect) this.#isClosed = true;
    super.disconnect(reconnect);
  }

  override quit(...args: Parameters<Redis['quit']>): ReturnType<Redis['quit']> {
    this.#isClosed = true;
    return super.quit(...args);
  }

  override duplicate(override?: Partial<RedisOptions>): Redis {
    return new ReconnectingRedis({ ...this.options, ...override });
  }

  #reopen(): void {
    // Without a strategy, the caller wants no further attempts.
    if (typeof this.options.retryStrategy !== 'function') return;
    setTimeout(() => {
      if (!this.#isClosed && this.status === 'end') this.connect().catch(() => {});
    }, REOPEN_DELAY_MS).unref();
  }
}

/**
 * A connection to a Redis Cluster whose `connect` always settles. ioredis drops the promise if the cluster reports
 * during the attempt that it is down, as it does for seconds after a master has died, although the next attempt
 * connects: https://github.com/redis/ioredis/pull/741. A worker of BullMQ that reconnects would wait for it forever.
 */
export class ReconnectingCluster extends Cluster {
  readonly #nodes: ClusterNode[];

  constructor(nodes: ClusterNode[], options: ClusterOptions) {
    super(nodes, options);
    this.#nodes = nodes;
  }

  /** Resolves when the cluster is ready, at whichever attempt. Rejects if an attempt fails, or the connection ends. */
  override connect(): Promise<void> {
    return new Promise((resolve, reject) => {
      const stopListening = () => {
        this.off('ready', onReady);
        this.off('end', onEnd);
      };
      const onReady = () => {
        stopListening();
        resolve();
      };
      const onEnd = () => onError(new Error('The connection to the cluster was closed.'));
      const onError = (error: Error) => {
        stopListening();
        reject(error);
      };
      this.on('ready', onReady);
      this.on('end', onEnd);
      super.connect().then(onReady, onError);
    });
  }

  override duplicate(nodes?: ClusterNode[], override?: object): never {
    const { redisOptions, ...options }: ClusterOptions = override ?? {};
    // The declared type depends on a mapping of replies, which is the same for all connections here.
    return new ReconnectingCluster(nodes ?? this.#nodes, {
      ...this.options,
      ...options,
      redisOptions: { ...this.options.redisOptions, ...redisOptions },
    } as ClusterOptions) as never;
  }
}
