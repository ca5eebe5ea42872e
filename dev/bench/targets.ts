/** The required value and the goal of each figure; ratios unless a unit is given. */
export interface Target {
  title: string;
  reach: number;
  aim: number;
  better: 'more' | 'less';
  unit?: 'MB' | 'µs' | 'ms';
}

/** With call-backs. The median, because a tail is that of the machine. */
const resultTarget = (rate: number): Target => ({
  title: `time to result beyond the upstream's own, median, ${rate} creates/s`,
  reach: 500,
  aim: 150,
  better: 'less',
  unit: 'ms',
});

const upstreamTarget = (fault: string): Target => ({
  title: `create to end at one upstream, p99, while at another one ${fault} : without`,
  reach: 1.1,
  aim: 1.1,
  better: 'less',
});

/** At 80 % of the lower capacity of both. */
const loadTarget = (what: string): Target => ({
  title: `${what} at 80 %, p99 : bare Koa at the same rate`,
  reach: 1,
  aim: 0.5,
  better: 'less',
});

const growthTarget = (what: string): Target => ({ title: `growth: ${what}`, reach: 1.2, aim: 1.05, better: 'less' });

/** Pages read several tables, so their times vary more than those of one request of the API. */
const pageTarget = (what: string): Target => ({ title: `page growth: ${what}`, reach: 1.5, aim: 1.1, better: 'less' });

const startTarget = (what: string): Target => ({
  title: `processor time until the ${what} is ready : the same code in modules`,
  reach: 0.5,
  aim: 0.4,
  better: 'less',
});

export const TARGETS = {
  create32: { title: 'create, 32 clients : bare statement', reach: 0.6, aim: 0.9, better: 'more' },
  create128: { title: 'create, 128 clients : bare statement', reach: 0.9, aim: 1.15, better: 'more' },
  latency: { title: 'create, 2 clients, median : bare Koa and statement', reach: 2, aim: 1.3, better: 'less' },
  hot: { title: 'create, one hot account : bare statement', reach: 0.5, aim: 1, better: 'more' },
  read: { title: 'read by key : bare Koa and one select', reach: 1.2, aim: 1.6, better: 'more' },
  loadCreate: loadTarget('create'),
  loadRead: loadTarget('read'),
  loadList: loadTarget('list'),
  pipeline: { title: 'whole pipeline : bare BullMQ, two jobs each', reach: 0.3, aim: 1, better: 'more' },
  result5: resultTarget(5),
  result50: resultTarget(50),
  result150: resultTarget(150),
  growthFirst: growthTarget('list, page 1'),
  growthMiddle: growthTarget('list, a middle page'),
  growthLedger: growthTarget('ledger, page 1'),
  growthUsage: growthTarget('usage summary'),
  growthStaff: growthTarget('staff metrics'),
  growthCreate: growthTarget('create'),
  limitLatency: { title: 'create by a key with a spending limit : without', reach: 1.1, aim: 1.1, better: 'less' },
  limitThroughput: { title: 'the same, 32 clients, per second', reach: 0.9, aim: 0.9, better: 'more' },
  thumbnail: { title: "thumbnail of 1,024² pixels, CPU : sharp's defaults", reach: 0.7, aim: 0.65, better: 'less' },
  catalog: { title: 'create with 50 models : with two', reach: 1.02, aim: 1.02, better: 'less' },
  pageOverview: pageTarget('overview'),
  pageUsage: pageTarget('usage'),
  pageLedger: pageTarget('ledger'),
  pageLibrary: pageTarget('library'),
  pageBilling: pageTarget('billing'),
  pageReport: pageTarget('a report for staff'),
  grants: { title: 'monthly grants : one bare insert of as many rows', reach: 0.45, aim: 0.5, better: 'more' },
  isolation: {
    title: 'create, p99, while 1,000,000 accounts are due and renewed : without renewal',
    reach: 1.2,
    aim: 1.2,
    better: 'less',
  },
  isolationSubmit: upstreamTarget('submits hang'),
  isolationStatus: upstreamTarget('polls hang'),
  isolationFileHost: upstreamTarget('the file host hangs'),
  isolationSlowFile: upstreamTarget('files of 500 MB are slow'),
  webhooks: { title: 'webhook, 32 clients, p99 : bare Koa and one insert', reach: 2, aim: 1.5, better: 'less' },
  deliveries1: { title: 'webhooks delivered, 1 endpoint : bare BullMQ and a POST', reach: 0.3, aim: 1, better: 'more' },
  deliveries100: { title: 'the same, 100 endpoints', reach: 0.3, aim: 1, better: 'more' },
  deliveries10000: { title: 'the same, 10,000 endpoints', reach: 0.3, aim: 1, better: 'more' },
  deliveryDelay100: {
    title: 'webhook delay, p99, 100 endpoints : without the one in ten that hangs',
    reach: 1.1,
    aim: 1.1,
    better: 'less',
  },
  deliveryDelay10000: { title: 'webhook delay, p99, 10,000 endpoints', reach: 1.1, aim: 1.1, better: 'less' },
  code: { title: 'OAuth code exchange, 32 clients : oidc-provider in memory', reach: 1, aim: 1.1, better: 'more' },
  refresh: { title: 'OAuth refresh, 32 clients : oidc-provider in memory', reach: 1, aim: 1.1, better: 'more' },
  newToken: { title: 'verifying a new access token, CPU', reach: 80, aim: 80, better: 'less', unit: 'µs' },
  knownToken: { title: 'verifying a known access token, CPU', reach: 20, aim: 20, better: 'less', unit: 'µs' },
  mcpBuilt: {
    title: 'MCP get_usage : a bare SDK server built for each request, empty tool',
    reach: 1.6,
    aim: 1.9,
    better: 'more',
  },
  mcpKept: { title: 'the same : one kept for each session, empty tool', reach: 1, aim: 1.15, better: 'more' },
  mcpSessions: {
    title: 'RSS of the API after 10,000 MCP sessions : after a tenth of them',
    reach: 1.15,
    aim: 1.05,
    better: 'less',
  },
  startApi: startTarget('API'),
  startWorker: startTarget('worker'),
  idleApi: { title: 'RSS of the idle API', reach: 126, aim: 120, better: 'less', unit: 'MB' },
  idleWorker: { title: 'RSS of the idle worker', reach: 104, aim: 100, better: 'less', unit: 'MB' },
  memoryApi: { title: 'RSS of the API under load', reach: 150, aim: 135, better: 'less', unit: 'MB' },
  memoryWorker: { title: 'RSS of the worker under load', reach: 150, aim: 110, better: 'less', unit: 'MB' },
} as const satisfies Record<string, Target>;

export type TargetName = keyof typeof TARGETS;
export type TargetVerdict = 'aim' | 'ok' | 'missed';

/** Rates a value: it meets its goal, meets the requirement, or neither. */
export function rateAgainstTarget({ reach, aim, better }: Target, value: number): TargetVerdict {
  const meets = (limit: number) => (better === 'more' ? value >= limit : value <= limit);
  if (meets(aim)) return 'aim';
  return meets(reach) ? 'ok' : 'missed';
}
