import { Gauge } from 'prom-client';
import { config } from '../config.ts';
import { metricsRegistry } from '../metrics.ts';
import { db } from './pool.ts';

/** Counters of the pool in knex, which does not declare them. */
interface PoolCounters {
  numUsed(): number;
  numFree(): number;
  numPendingAcquires(): number;
}

/** Read from the pool at each scrape, without a query. */
export const poolConnections = new Gauge({
  name: 'genmeter_database_pool_connections',
  help: 'Connections of this process to Postgres. state: used, idle, or pending for requests that wait for one.',
  labelNames: ['state'],
  registers: [metricsRegistry],
  collect() {
    const pool = (db.client as { pool?: PoolCounters }).pool;
    // The pool is gone while the process shuts down.
    if (pool === undefined) return this.reset();
    this.set({ state: 'used' }, pool.numUsed());
    this.set({ state: 'idle' }, pool.numFree());
    this.set({ state: 'pending' }, pool.numPendingAcquires());
  },
});

export const poolMax = new Gauge({
  name: 'genmeter_database_pool_max_connections',
  help: 'Maximum of connections of this process to Postgres (DATABASE_POOL_MAX).',
  registers: [metricsRegistry],
  collect() {
    this.set(config.DATABASE_POOL_MAX);
  },
});
