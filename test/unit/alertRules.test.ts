import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { expect } from 'chai';
import { load } from 'js-yaml';
import { ALL_TASK_KINDS } from '../../shared/domain/privacy/taskKinds.ts';
import { collectProcessMetrics, metricsRegistry } from '../../shared/lib/metrics.ts';
import '../../shared/lib/database/poolMetrics.ts';
import { listMetrics } from '../harness/promql.ts';
import { setTestConfig } from '../harness/testConfig.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const RUNBOOKS = 'docs/operations/runbooks';
/** Metrics of Prometheus itself and of the exporters that docs/operations/prometheus/prometheus.yml scrapes. */
const FOREIGN = [
  'up',
  'probe_success',
  'probe_ssl_earliest_cert_expiry',
  'pg_up',
  'pg_stat_activity_count',
  'pg_stat_activity_max_tx_duration',
  'pg_settings_max_connections',
  'pg_replication_lag_seconds',
  'redis_up',
  'redis_errors_total',
  'redis_memory_used_bytes',
  'redis_memory_max_bytes',
  'node_filesystem_avail_bytes',
  'node_filesystem_size_bytes',
];
/** Labels that Prometheus adds to every series. */
const SCRAPE_LABELS = ['job', 'instance'];

interface Rule {
  record?: string;
  alert?: string;
  expr: string;
  for?: string;
  labels?: Record<string, string>;
  annotations?: Record<string, string>;
}
interface Panel {
  title: string;
  targets?: { expr: string }[];
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

function readRules(): Rule[] {
  return ['alerts', 'slo'].flatMap((name) => {
    const { groups } = load(read(`docs/operations/prometheus/${name}.yml`)) as { groups: { rules: Rule[] }[] };
    return groups.flatMap(({ rules }) => rules);
  });
}

/** Labels by the name of every series that a process of the service exports. */
function listExportedSeries(): Map<string, string[]> {
  const series = new Map<string, string[]>();
  for (const metric of metricsRegistry.getMetricsAsArray()) {
    const { name, type, labelNames = [] } = metric as unknown as { name: string; type: string; labelNames?: string[] };
    series.set(name, labelNames);
    if (type !== 'histogram') continue;
    for (const suffix of ['sum', 'count']) series.set(`${name}_${suffix}`, labelNames);
    series.set(`${name}_bucket`, [...labelNames, 'le']);
  }
  return series;
}

describe('alerts, dashboard and runbooks', () => {
  const rules = readRules();
  const alerts = rules.filter((rule) => rule.alert !== undefined);
  const recorded = rules.flatMap(({ record }) => record ?? []);
  const runbooks = readdirSync(join(ROOT, RUNBOOKS)).filter((name) => name !== 'README.md');
  const { panels } = JSON.parse(read('docs/operations/grafana/genmeter.json')) as { panels: Panel[] };
  const dashboard = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
  const queries = runbooks.flatMap((name) =>
    [...read(`${RUNBOOKS}/${name}`).matchAll(/^promtool query instant \S+ '(.*)'$/gm)].map(([, query = '']) => query),
  );
  let exported: Map<string, string[]>;

  before(() => {
    setTestConfig();
    collectProcessMetrics();
    exported = listExportedSeries();
  });

  it('name only metrics and labels that a process exports, a rule records or a listed exporter provides', () => {
    const expressions = [...rules.map(({ expr }) => expr), ...dashboard, ...queries];
    expect(expressions).to.have.length.above(90);
    const unknown = expressions.flatMap((expression) =>
      listMetrics(expression).flatMap(({ name, labels }) => {
        if (recorded.includes(name) || FOREIGN.includes(name)) return [];
        const known = exported.get(name);
        if (known === undefined) return [`${name} in ${expression}`];
        return labels
          .filter((label) => !known.includes(label) && !SCRAPE_LABELS.includes(label))
          .map((label) => `label ${label} of ${name}`);
      }),
    );
    expect(unknown).to.deep.equal([]);
  });

  it('use and document every metric that the service exports', () => {
    const own = [...exported.keys()].filter(
      (name) => name.startsWith('genmeter_') && !/_(sum|count|bucket)$/.test(name),
    );
    const used = [...rules.map(({ expr }) => expr), ...dashboard].join('\n');
    expect(own.filter((name) => !used.includes(name))).to.deep.equal([]);
    expect(own.filter((name) => !read('docs/operating.md').includes(`\`${name}\``))).to.deep.equal([]);
  });

  it('use every recording rule', () => {
    const used = [...alerts.map(({ expr }) => expr), ...dashboard].flatMap(listMetrics).map(({ name }) => name);
    expect(recorded.filter((name) => !used.includes(name))).to.deep.equal([]);
  });

  it('state for each alert a duration, a severity, a summary, a description and its runbook', () => {
    for (const { alert, for: duration, labels, annotations } of alerts) {
      expect(duration, alert).to.match(/^\d+[mh]$/);
      expect(labels, alert).to.include({ service: 'genmeter' });
      expect(labels?.['severity'], alert).to.be.oneOf(['critical', 'warning']);
      expect(annotations, alert).to.have.all.keys('summary', 'description', 'runbook_url');
      expect(annotations?.['runbook_url'], alert).to.equal(`{{ $externalLabels.runbooks }}/${alert}.md`);
    }
  });

  it('compare two windows of one objective in each burn rate alert', () => {
    const burns = alerts.filter(({ alert = '' }) => alert.endsWith('BudgetBurn'));
    expect(burns).to.have.length(8);
    for (const { expr, labels } of burns) {
      const [long, short] = listMetrics(expr).map(({ name }) => name);
      expect(long?.replace(/rate\w+$/, '')).to.equal(short?.replace(/rate\w+$/, ''));
      expect(long).to.match(new RegExp(`rate${labels?.['window']}$`));
    }
  });

  it('have one runbook per alert, with symptom, three commands, causes and repair', () => {
    expect(new Set(alerts.map(({ alert }) => `${alert}.md`))).to.deep.equal(new Set(runbooks));
    for (const name of runbooks) {
      const text = read(`${RUNBOOKS}/${name}`);
      expect([...text.matchAll(/^#+ (.+)$/gm)].map(([, heading]) => heading)).to.deep.equal([
        name.replace('.md', ''),
        'Symptom',
        'First commands',
        'Causes',
        'Repair',
      ]);
      const commands = /```sh\n([^]*?)\n```/.exec(text)?.[1]?.split('\n');
      expect(commands, name).to.have.length(3);
    }
  });

  it('say for each kind of tasks what it does, why it fails and what to do', () => {
    const rows = read(`${RUNBOOKS}/GenmeterTasksFailing.md`).matchAll(/^\| `([a-zA-Z.]+)` \| .+ \| .+ \| .+ \|$/gm);
    expect([...rows].map(([, kind]) => kind)).to.have.members(ALL_TASK_KINDS.map(({ name }) => name));
  });

  it('search logs only for messages that the service writes', () => {
    const sources = ['api', 'worker', 'shared'].flatMap((folder) =>
      readdirSync(join(ROOT, folder), { recursive: true })
        .filter((name) => String(name).endsWith('.ts'))
        .map((name) => read(`${folder}/${String(name)}`)),
    );
    const messages = runbooks.flatMap((name) =>
      [...read(`${RUNBOOKS}/${name}`).matchAll(/\.msg == "([^"]+)"/g)].map(([, message = '']) => message),
    );
    expect(messages).to.have.length.above(1);
    expect(messages.filter((message) => !sources.some((text) => text.includes(`'${message}'`)))).to.deep.equal([]);
  });
});
