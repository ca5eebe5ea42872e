import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';
import { VERSION } from '../spec/version.ts';
import { config } from './config.ts';

/**
 * Prometheus metrics of this process (docs/operating.md). No label identifies a customer, and every label has few
 * values, so that the scrape stays small as the service grows.
 */
export const metricsRegistry = new Registry();

const DURATION_BUCKETS_SECONDS = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];

export const httpRequests = new Counter({
  name: 'genmeter_http_requests_total',
  help: 'Requests, by the pattern of their route and their status.',
  labelNames: ['method', 'route', 'status'],
  registers: [metricsRegistry],
});

export const httpRequestDuration = new Histogram({
  name: 'genmeter_http_request_duration_seconds',
  help: 'Duration of requests, by the pattern of their route. Not by status, which would multiply the series.',
  labelNames: ['method', 'route'],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1, 5],
  registers: [metricsRegistry],
});

export const upstreamRequestDuration = new Histogram({
  name: 'genmeter_upstream_request_duration_seconds',
  help: 'Duration of requests to generation upstreams. outcome: ok, rejected, unavailable, unknown or gone.',
  labelNames: ['upstream', 'operation', 'outcome'],
  buckets: [...DURATION_BUCKETS_SECONDS, 60, 120, 240],
  registers: [metricsRegistry],
});

export const moderationDuration = new Histogram({
  name: 'genmeter_moderation_duration_seconds',
  help: 'Duration of decisions of the moderation service. outcome: allowed, denied or failed.',
  labelNames: ['outcome'],
  buckets: DURATION_BUCKETS_SECONDS,
  registers: [metricsRegistry],
});

export const generationsCompleted = new Counter({
  name: 'genmeter_generations_ended_total',
  help: 'Generations that this process has ended: succeeded, failed or canceled. Only the first are not refunded.',
  labelNames: ['outcome'],
  registers: [metricsRegistry],
});

export const generationsFailedOver = new Counter({
  name: 'genmeter_generations_failed_over_total',
  help: 'Runs that failed at an upstream and were tried at another one.',
  labelNames: ['upstream'],
  registers: [metricsRegistry],
});

export const creditsBurned = new Counter({
  name: 'genmeter_credits_burned_total',
  help: 'Credits charged for generations, before refunds.',
  labelNames: ['model'],
  registers: [metricsRegistry],
});

export const modelMarginRatio = new Gauge({
  name: 'genmeter_model_margin_ratio',
  help: "Smallest margin of a model at the rate of the cheapest plan and its first upstream's price. Below 0 it loses money.",
  labelNames: ['model'],
  registers: [metricsRegistry],
});

export const creditsRefunded = new Counter({
  name: 'genmeter_credits_refunded_total',
  help: 'Credits given back for generations that failed.',
  registers: [metricsRegistry],
});

export const creditPeriodsRenewed = new Counter({
  name: 'genmeter_grants_total',
  help: 'Credit periods renewed, each with a grant.',
  registers: [metricsRegistry],
});

export const paymentEventLag = new Histogram({
  name: 'genmeter_payment_event_lag_seconds',
  help: 'Time from the arrival of a payment processor event until it was applied.',
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 3_600],
  registers: [metricsRegistry],
});

export const emailsEnded = new Counter({
  name: 'genmeter_emails_ended_total',
  help: 'E-mail messages that this process has ended. outcome: sent, or failed (rejected by the mail server, or not sent in time).',
  labelNames: ['outcome'],
  registers: [metricsRegistry],
});

export const webhookAttempts = new Counter({
  name: 'genmeter_webhook_attempts_total',
  help: 'Attempts to deliver a webhook. outcome: succeeded, retried (failed, another attempt follows) or failed.',
  labelNames: ['outcome'],
  registers: [metricsRegistry],
});

export const webhookDelay = new Histogram({
  name: 'genmeter_webhook_delay_seconds',
  help: 'Time from an event until its webhook was delivered, of those that the first attempt delivered.',
  buckets: [0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
  registers: [metricsRegistry],
});

export const webhookAttemptsInFlight = new Gauge({
  name: 'genmeter_webhook_attempts_in_flight',
  help: 'Webhook attempts of this process that are in flight.',
  registers: [metricsRegistry],
});

export const jobDuration = new Histogram({
  name: 'genmeter_job_duration_seconds',
  help: 'Duration of jobs in this process. outcome: done or failed.',
  labelNames: ['job', 'outcome'],
  buckets: DURATION_BUCKETS_SECONDS,
  registers: [metricsRegistry],
});

export const taskDuration = new Histogram({
  name: 'genmeter_task_duration_seconds',
  help: 'Duration of runs of tasks in this process. outcome: done, postponed, failed (it will be repeated) or given_up.',
  labelNames: ['kind', 'outcome'],
  buckets: [0.01, 0.1, 1, 10, 60],
  registers: [metricsRegistry],
});

export const taskCount = new Gauge({
  name: 'genmeter_tasks',
  help: 'Tasks of each kind. state: due, failing (its last run failed, and it will be repeated) or given_up. The same in every worker.',
  labelNames: ['kind', 'state'],
  registers: [metricsRegistry],
});

export const taskOldestSeconds = new Gauge({
  name: 'genmeter_tasks_oldest_seconds',
  help: 'Seconds since the oldest task of each kind that is due became so; 0 if none is due. The same in every worker.',
  labelNames: ['kind'],
  registers: [metricsRegistry],
});

export const queueJobs = new Gauge({
  name: 'genmeter_queue_jobs',
  help: 'Jobs in each queue. state: waiting, delayed, active or failed. The same in every worker.',
  labelNames: ['queue', 'state'],
  registers: [metricsRegistry],
});

export const queueOldestJobSeconds = new Gauge({
  name: 'genmeter_queue_oldest_job_seconds',
  help: 'Seconds since the oldest waiting job of each queue became due. The same in every worker.',
  labelNames: ['queue'],
  registers: [metricsRegistry],
});

export const backlogRows = new Gauge({
  name: 'genmeter_backlog',
  help: 'Rows that wait for the workers (generations, and webhook_endpoints with a delivery due), and commits that wait for a synchronous standby (commits). The same in every worker.',
  labelNames: ['of'],
  registers: [metricsRegistry],
});

export const backlogOldestSeconds = new Gauge({
  name: 'genmeter_backlog_oldest_seconds',
  help: 'Age of the oldest of them; 0 if there is none. The same in every worker.',
  labelNames: ['of'],
  registers: [metricsRegistry],
});

export const backlogLastSuccess = new Gauge({
  name: 'genmeter_backlog_last_success_timestamp_seconds',
  help: 'Time at which this worker last counted the queues (of: queues), the rows (of: rows) and the tasks (of: tasks), and read the status of the models (of: models), in seconds since 1970.',
  labelNames: ['of'],
  registers: [metricsRegistry],
});

export const modelStatus = new Gauge({
  name: 'genmeter_model_status',
  help: '1 for the status that a model has, 0 for the others: online, degraded or offline. Creates of an offline model are rejected. The same in every worker.',
  labelNames: ['model', 'status'],
  registers: [metricsRegistry],
});

const buildInfo = new Gauge({
  name: 'genmeter_build_info',
  help: 'Always 1. The labels are the version of this process, the commit that it was built from, and its Node version.',
  labelNames: ['version', 'commit', 'node'],
  registers: [metricsRegistry],
});

/** Collects CPU, memory, event loop and garbage collection metrics, and the build that this process runs. */
export function collectProcessMetrics(): void {
  buildInfo.reset();
  buildInfo.set({ version: VERSION, commit: config.GIT_COMMIT, node: process.versions.node }, 1);
  // The registry outlives a service, so the metrics are registered once per process.
  if (metricsRegistry.getSingleMetric('process_cpu_seconds_total') !== undefined) return;
  collectDefaultMetrics({ register: metricsRegistry });
}
